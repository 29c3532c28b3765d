// From the spool to the server: whatever fails in between, every record arrives once or is named as
// lost.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <optional>
#include <random>
#include <set>

#include "spool/client_log.h"
#include "upload/fake_server.h"
#include "upload/source.h"
#include "upload/test_upload.h"
#include "upload/uploader.h"

namespace corral::upload {
namespace {

void log(spool::SegmentWriter& writer, double value) {
  ASSERT_TRUE(
      writer.point(writer.series(view("loss")), spool::SegmentWriter::now(), value, nullptr));
}

// Steps until nothing is left; each failed step is tried again, as callers do.
void drain(Uploader& uploader, Transport& server) {
  for (int i = 0; i < 200; ++i) {
    const auto report = uploader.step(server);
    if (report && report->idle && report->frames_sent == 0) return;
  }
  FAIL() << "the uploader never becomes idle";
}

// ---- one uploader
TEST(Uploader, BringsTheSupervisorsFramesAndEveryProcessesRecords) {
  Spooled run;
  spool::SegmentWriter first(run.writer_options());
  spool::SegmentWriter second(run.writer_options());
  for (int i = 0; i < 300; ++i) log(i % 2 == 0 ? first : second, i);
  ASSERT_TRUE(first.param(view("lr"), view("0.1")));
  run.journal.event("said", {});
  FakeServer server;
  Uploader uploader(run.directory, [] { return true; });
  drain(uploader, server);
  EXPECT_EQ(server.sessions.size(), 3u);
  EXPECT_EQ(server.values().size(), 300u);
  EXPECT_EQ(std::set<double>(server.values().begin(), server.values().end()).size(), 300u);
  EXPECT_EQ(server.facts, (std::vector<codec::Fact>{{codec::FactKind::kParam, "lr", "0.1"}}));
  EXPECT_EQ(server.events, std::vector<std::string>{"said"});
  EXPECT_EQ(uploader.refused(), 0u);
  EXPECT_TRUE(uploader.take_problems().empty());
}

TEST(Uploader, AcknowledgedSegmentsAreDeletedWhileTheWriterGoesOn) {
  Spooled run;
  spool::SegmentWriter writer(run.writer_options());
  FakeServer server;
  Uploader uploader(run.directory, [] { return true; });
  std::size_t most = 0;
  for (int i = 0; i < 2000; ++i) {
    log(writer, i);
    if (i % 50 == 0) drain(uploader, server);
    most = std::max(most, sys::list_directory(run.directory.segments()).size());
  }
  drain(uploader, server);
  EXPECT_EQ(server.values().size(), 2000u);
  EXPECT_LE(most, 5u);  // with `drops`
}

TEST(Uploader, IsFinishedOnceTheWritersAreGoneAndAllIsStored) {
  Spooled run;
  Trainee trainee(run);
  trainee.log(1);
  FakeServer server;
  bool open = true;
  Uploader uploader(run.directory, [&] { return open; });
  drain(uploader, server);
  EXPECT_FALSE(uploader.finished());
  trainee.log(2);
  trainee.kill(SIGKILL);
  open = false;
  drain(uploader, server);
  EXPECT_TRUE(uploader.finished());
  EXPECT_EQ(server.values(), (std::vector<double>{1, 2}));
}

TEST(Uploader, SessionsOfProcessesThatEndedAreDroppedOneByOne) {
  Spooled run;
  FakeServer server;
  Uploader uploader(run.directory, [] { return true; });
  for (char i = 0; i < 5; ++i) {
    Trainee trainee(run);
    trainee.log(i);
    trainee.end();
    drain(uploader, server);
  }
  EXPECT_EQ(server.values(), (std::vector<double>{0, 1, 2, 3, 4}));
  EXPECT_EQ(spool::frame_files(run.directory.files()).size(), 1u);
  EXPECT_TRUE(segment_sessions(run.directory).empty());
}

TEST(Uploader, TheyAreDroppedAlsoWhileThereIsAlwaysSomethingToSend) {
  Spooled run;
  {
    Trainee trainee(run);
    trainee.log(1);
    trainee.end();
  }
  auto client = spool::ClientLog::create(run.directory.files(),
                                         spool::session_body(run.directory.manifest()), 1 << 20)
                    .value();
  codec::Bundle bundle;
  bundle.add(codec::FactsBody{{{.kind = codec::FactKind::kTag, .key = "k", .value = "v"}}});
  client.bundle(bundle);
  client.close();
  FakeServer server;
  Uploader uploader(run.directory, [] { return true; });
  const auto left = [&] {
    return segment_sessions(run.directory).size() +
           spool::client_logs(run.directory.files()).size();
  };
  EXPECT_EQ(left(), 2u);
  for (int round = 0; round < 5 && left() > 0; ++round) {
    run.journal.event("e", {});
    const auto report = uploader.step(server);
    ASSERT_TRUE(report);
    ASSERT_GT(report->frames_sent, 0u);
  }
  EXPECT_EQ(left(), 0u);
  EXPECT_EQ(server.values(), std::vector<double>{1});
  EXPECT_EQ(server.facts, (std::vector<codec::Fact>{{codec::FactKind::kTag, "k", "v"}}));
}

TEST(Uploader, ARefusedFrameIsPutAsideCoveredAndTheStreamGoesOn) {
  for (const Code code : {Code::kInvalidArgument, Code::kTooLarge, Code::kUnprocessable}) {
    Spooled run;
    FakeServer server;
    server.refuse = [code](const std::vector<std::string>& events) {
      return std::ranges::count(events, "poison") > 0 ? std::optional(code) : std::nullopt;
    };
    run.journal.event("before", {});
    run.journal.event("poison", {});
    run.journal.event("after", {});
    Uploader uploader(run.directory, [] { return true; });
    drain(uploader, server);
    EXPECT_EQ(server.events, (std::vector<std::string>{"before", "after"}));
    EXPECT_EQ(uploader.refused(), 1u);
    EXPECT_EQ(uploader.last_refusal(), "refused by the test");
    ASSERT_EQ(server.gaps.size(), 1u);
    EXPECT_EQ(server.gaps[0].reason, codec::GapReason::kRefused);
    EXPECT_EQ(server.gaps[0].message, "refused by the test");
    EXPECT_EQ(run.refused_files(), 1u);
  }
}

TEST(Uploader, WhatMayGoWellLaterIsKeptAndTriedAgain) {
  for (const Code code :
       {Code::kUnauthenticated, Code::kPermission, Code::kNotFound, Code::kUnavailable,
        Code::kNoSpace, Code::kUnsupported, Code::kInternal}) {
    Spooled run;
    FakeServer server;
    server.refuse = [&](const std::vector<std::string>& events) {
      return std::ranges::count(events, "later") > 0 ? std::optional(code) : std::nullopt;
    };
    run.journal.event("later", {});
    Uploader uploader(run.directory, [] { return true; });
    EXPECT_FALSE(uploader.step(server));
    EXPECT_FALSE(uploader.step(server));
    server.refuse = {};
    drain(uploader, server);
    EXPECT_EQ(server.events, std::vector<std::string>{"later"});
    EXPECT_EQ(run.refused_files(), 0u);
    EXPECT_TRUE(server.gaps.empty());
  }
}

TEST(Uploader, ASessionThatTheServerRefusesIsNotSentAgainAndAgain) {
  Spooled run;
  FakeServer server;
  server.refuse_sessions = true;
  Uploader uploader(run.directory, [] { return true; });
  drain(uploader, server);
  EXPECT_EQ(uploader.refused(), 1u);
  run.journal.event("e", {});
  EXPECT_EQ(uploader.step(server).value().frames_sent, 0u);
  EXPECT_TRUE(uploader.finished());  // nothing more can be done
  const spool::fs::path path = run.directory.path();
  uploader.close();
  EXPECT_FALSE(spool::fs::exists(path));
  EXPECT_TRUE(spool::fs::exists(path.parent_path() / ("refused-" + path.filename().string()) /
                                "manifest.json"))
      << "its data stays";
}

TEST(Uploader, AStoreThatForgotGetsTheRestAndIsToldWhatItLacks) {
  Spooled run;
  spool::SegmentWriter writer(run.writer_options());
  FakeServer server;
  Uploader uploader(run.directory, [] { return true; });
  std::string noise(60'000, '\0');
  unsigned seed = 1;
  for (char& c : noise) c = static_cast<char>((seed = seed * 1664525 + 1013904223) >> 24);
  for (int i = 0; i < 150; ++i) {  // several files of each kind, the first of which are deleted
    run.journal.log({.time = boot_time(1),
                     .stream = codec::LogStream::kStdout,
                     .offset = 60'000 * i,
                     .bytes = noise});
    for (int k = 0; k < 10; ++k) log(writer, i * 10 + k);
  }
  drain(uploader, server);
  ASSERT_EQ(server.values().size(), 1500u);
  server = FakeServer();
  run.journal.event("news", {});
  log(writer, 1500);
  drain(uploader, server);
  EXPECT_EQ(server.events, std::vector<std::string>{"news"});
  EXPECT_EQ(server.values().back(), 1500.0);
  EXPECT_EQ(server.sessions.size(), 2u);
  EXPECT_GE(server.gaps.size(), 2u);
  for (const codec::GapBody& gap : server.gaps) EXPECT_FALSE(gap.message.empty());
}

// Says "conflict" to everything and never gets on.
struct ContraryServer final : Transport {
  int posts = 0;
  Result<Posted> post(const std::vector<codec::Bytes>& frames) override {
    ++posts;
    const auto header = codec::decode_frame(frames.at(0)).value().header;
    return Posted{.acks = {},
                  .refusals = {{.session = header.session,
                                .first = header.first,
                                .last = header.last,
                                .code = Code::kConflict,
                                .message = "no"}}};
  }
  Result<std::uint64_t> durable_seq(SessionId) override { return 0; }
};

TEST(Uploader, AServerThatContradictsItselfIsAnErrorNotALoop) {
  Spooled run;
  ContraryServer server;
  Uploader uploader(run.directory, [] { return true; });
  bool failed = false;
  for (int i = 0; i < 3 && !failed; ++i) failed = !uploader.step(server);
  EXPECT_TRUE(failed);
}

TEST(Uploader, ADamagedSegmentIsNamedKeptAndDoesNotHoldTheRestUp) {
  Spooled run;
  {
    Trainee trainee(run);
    trainee.log(1);
  }
  const std::string bad = SessionId::random().hex() + "-000000.seg";
  ASSERT_TRUE(sys::replace_file(run.directory.segments() / bad, std::string(10'000, 'x')));
  FakeServer server;
  bool open = true;
  Uploader uploader(run.directory, [&] { return open; });
  drain(uploader, server);
  open = false;
  drain(uploader, server);
  EXPECT_EQ(server.values(), std::vector<double>{1});
  const auto problems = uploader.take_problems();
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_NE(problems[0].find(bad), std::string::npos);
  EXPECT_TRUE(uploader.finished());
  EXPECT_TRUE(sys::fs::exists(run.directory.path() / "refused" / bad));
}

// Even when the files that declared series and facts are long gone.
TEST(Uploader, AStoreThatWasLostIsToldAnewWhatWasDeclared) {
  Spooled run;
  const auto sample = [&](double value) {
    codec::Bundle bundle;
    bundle.add(codec::SamplesBody{
        .groups = {{.times = {boot_time(1)},
                    .steps = {},
                    .columns = {{.series = 7, .present = {}, .values = {value}}}}}});
    run.journal.bundle(bundle);
  };
  codec::Bundle declares;
  declares.add(codec::SchemaBody{.series = {{.id = 7, .name = "watts", .source = "", .unit = ""}}});
  run.journal.bundle(declares);
  run.journal.facts({{codec::FactKind::kParam, "lr", "0.1"}});
  sample(1);
  std::optional<FakeServer> server(std::in_place);
  Uploader uploader(run.directory, [] { return true; });
  std::minstd_rand random(1);
  while (spool::frame_files(run.directory.files()).front() == 1) {
    std::string noise(limits::kLogChunkBytes, ' ');
    std::ranges::generate(noise, [&] { return static_cast<char>(random()); });
    run.journal.log({.time = {}, .stream = codec::LogStream::kStdout, .offset = 0, .bytes = noise});
    drain(uploader, *server);
  }
  server.emplace();
  sample(2);
  drain(uploader, *server);
  EXPECT_EQ(uploader.refused(), 0u) << uploader.last_refusal();
  EXPECT_EQ(server->values(), std::vector<double>{2});
  EXPECT_EQ(server->facts, (std::vector<codec::Fact>{{codec::FactKind::kParam, "lr", "0.1"}}));
  EXPECT_EQ(server->gaps.size(), 1u);
}

// To any number that it had acknowledged. A hole of one frame has room for one: of the gap and of
// what was declared.
TEST(Uploader, AStoreThatWentBackIsToldAnewWhatWasDeclared) {
  std::minstd_rand random(1);
  std::string noise(50'000, ' ');
  std::ranges::generate(noise, [&] { return static_cast<char>('a' + random() % 26); });
  for (const std::uint64_t hole : {1u, 2u, 5u}) {
    Spooled run;
    std::map<std::uint64_t, FakeServer> before;  // by what was durable
    FakeServer server;
    Uploader uploader(run.directory, [] { return true; });
    std::uint32_t series = 0;
    const auto first = [&] { return spool::frame_files(run.directory.files()).front(); };
    while (first() == 1) {
      codec::Bundle bundle;  // each declares another series
      bundle.add(codec::SchemaBody{
          .series = {
              {.id = ++series, .name = "s" + std::to_string(series), .source = "", .unit = ""}}});
      std::ranges::shuffle(noise, random);
      bundle.add(codec::EventsBody{.events = {{boot_time(1), "noise", "user", {{"n", noise}}}}});
      run.journal.bundle(bundle);
      drain(uploader, server);
      before[server.sessions.begin()->second.durable] = server;
    }
    FakeServer back = before.at(first() - 1 - hole);
    codec::Bundle bundle;
    codec::SampleGroup group{.times = {boot_time(77)}, .steps = {}, .columns = {}};
    for (std::uint32_t id = 1; id <= series; ++id)
      group.columns.push_back({.series = id, .present = {}, .values = {1.0 * id}});
    bundle.add(codec::SamplesBody{.groups = {group}});
    run.journal.bundle(bundle);
    drain(uploader, back);
    EXPECT_EQ(uploader.refused(), 0u) << uploader.last_refusal();
    EXPECT_EQ(back.values().size(), series) << "hole of " << hole;
    const auto told = std::ranges::count_if(back.events, [](const std::string& name) {
      return name.find("lost what it had acknowledged") != std::string::npos;
    });
    EXPECT_EQ(back.gaps.size() + static_cast<std::size_t>(told), 1u) << "hole of " << hole;
  }
}

TEST(Uploader, ALostSegmentIsAGapWithAName) {
  Spooled run;
  {
    spool::WriterOptions options = run.writer_options();
    const pid_t child = ::fork();
    if (child == 0) {
      spool::SegmentWriter writer(options);
      for (int i = 0; i < 400; ++i) writer.point(writer.series(view("loss")), 1 + i, i, nullptr);
      ::_exit(0);
    }
    ::waitpid(child, nullptr, 0);
  }
  auto files = sys::list_directory(run.directory.segments());
  std::erase(files, "drops");
  ASSERT_GE(files.size(), 3u);
  sys::fs::remove(run.directory.segments() / files[1]);
  FakeServer server;
  Uploader uploader(run.directory, [] { return false; });
  drain(uploader, server);
  EXPECT_TRUE(uploader.finished());
  EXPECT_LT(server.values().size(), 400u);
  EXPECT_EQ(server.values().back(), 399.0);
  const auto problems = uploader.take_problems();
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_NE(problems[0].find("lost"), std::string::npos);
}

TEST(Uploader, EachProblemIsToldOnce) {
  Spooled run;
  ASSERT_TRUE(sys::replace_file(
      run.directory.segments() / (SessionId::random().hex() + "-000000.seg"), "x"));
  FakeServer server;
  Uploader uploader(run.directory, [] { return true; });
  drain(uploader, server);
  EXPECT_EQ(uploader.take_problems().size(), 1u);
  drain(uploader, server);
  EXPECT_TRUE(uploader.take_problems().empty());
}

// ---- the model: a server that fails at random, uploaders that are killed, frames that are refused
RC_GTEST_PROP(UploaderProperty, EveryRecordArrivesOnceOrIsNamedAsRefused, ()) {
  Spooled run;
  FakeServer server;
  server.refuse = [](const std::vector<std::string>& events) {
    return std::ranges::count(events, "poison") > 0 ? std::optional(Code::kUnprocessable)
                                                    : std::nullopt;
  };
  std::vector<std::unique_ptr<spool::SegmentWriter>> writers;
  std::optional<Uploader> uploader(std::in_place, run.directory, [] { return true; });
  std::set<double> written;
  double next = 0;
  for (int i = *rc::gen::inRange(5, 60); i > 0; --i) {
    switch (*rc::gen::inRange(0, 8)) {
      case 0:
        if (writers.size() < 3)
          writers.push_back(std::make_unique<spool::SegmentWriter>(run.writer_options()));
        break;
      case 1:
      case 2:
        for (int n = *rc::gen::inRange(1, 120); n > 0 && !writers.empty(); --n) {
          spool::SegmentWriter& writer =
              *writers[*rc::gen::inRange<std::size_t>(0, writers.size())];
          RC_ASSERT(writer.point(writer.series(view("loss")), spool::SegmentWriter::now(), next,
                                 nullptr));
          written.insert(next++);
        }
        break;
      case 3:
        if (!writers.empty() && *rc::gen::inRange(0, 3) == 0)
          writers.back()->event(view("poison"), {});
        break;
      case 4:
        run.journal.event("e" + std::to_string(i), {});
        break;
      case 5:
        uploader.emplace(run.directory, [] { return true; });
        break;  // as if it was killed
      default:
        server.faults = {*rc::gen::element(Fault::kNone, Fault::kNone, Fault::kLostRequest,
                                           Fault::kLostAnswer, Fault::kHalfStored),
                         *rc::gen::element(Fault::kNone, Fault::kLostRequest, Fault::kLostAnswer)};
        static_cast<void>(uploader->step(server));
    }
  }
  server.faults.clear();
  drain(*uploader, server);
  std::multiset<double> found;
  for (const double v : server.values()) found.insert(v);
  for (const double v : written)
    RC_ASSERT(found.count(v) + (server.refused_values.contains(v) ? 1u : 0u) == 1u);
  RC_ASSERT(found.size() + server.refused_values.size() == written.size());
  for (const codec::GapBody& gap : server.gaps)
    RC_ASSERT(gap.reason == codec::GapReason::kEmpty || !gap.message.empty());
  RC_ASSERT(run.refused_files() == server.refused_frames());
}

TEST(Retryable, IsEverythingButWhatTheSameBytesWillNeverPass) {
  for (const Code code :
       {Code::kInvalidArgument, Code::kTooLarge, Code::kUnprocessable, Code::kCorruption})
    EXPECT_FALSE(retryable(code));
  for (const Code code :
       {Code::kUnavailable, Code::kConflict, Code::kUnauthenticated, Code::kPermission,
        Code::kNotFound, Code::kUnsupported, Code::kNoSpace, Code::kInternal, Code::kIo})
    EXPECT_TRUE(retryable(code));
}

}  // namespace
}  // namespace corral::upload
