// From the spool to the server: whatever fails in between, every record arrives once or is named as
// lost.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <optional>
#include <set>

#include "spool/segment_writer.h"
#include "spool/spool_test_support.h"
#include "upload/fake_server.h"
#include "upload/finisher.h"
#include "upload/segment_source.h"
#include "upload/uploader.h"

namespace corral::upload {
namespace {

using spool::TestDirectory;
using spool::view;

// One run's spool. Writers here live in this process; those that must end are forked.
struct Spooled {
  explicit Spooled(spool::Manifest manifest = spool::test_manifest())
      : directory(spool::RunDirectory::create(root.path(), std::move(manifest)).value()),
        journal(spool::Journal::open(directory, 1ll << 30).value()) {
    journal.describe(spool::session_body(directory.manifest()));
  }
  [[nodiscard]] spool::WriterOptions writer_options() const {
    segments = directory.segments().string();
    spool::WriterOptions options;
    options.directory = segments.c_str();
    options.first_bytes = 4096 + 64 * 32;  // small ones, so that they follow each other quickly
    options.largest_bytes = 4096 + 128 * 32;
    return options;
  }
  [[nodiscard]] std::size_t refused_files() const {
    return sys::list_directory(directory.path() / "refused").size();
  }

  TestDirectory root;
  spool::RunDirectory directory;
  spool::Journal journal;
  mutable std::string segments;
};

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

// A process that logs what it is told to: one value per byte of the pipe; ends when the pipe
// closes.
class Trainee {
 public:
  explicit Trainee(const Spooled& run) {
    std::array<int, 2> orders{};
    std::array<int, 2> done{};
    CORRAL_ASSERT(::pipe(orders.data()) == 0 && ::pipe(done.data()) == 0);
    const spool::WriterOptions options = run.writer_options();
    pid_ = ::fork();
    if (pid_ == 0) {
      // As after an exec: nothing of the supervisor's, its lock least of all.
      ::dup2(orders[0], 0);
      ::dup2(done[1], 1);
      ::close_range(3, ~0u, 0);
      spool::SegmentWriter writer(options);
      for (char value = 0; ::read(0, &value, 1) == 1;) {
        writer.point(writer.series(view("loss")), spool::SegmentWriter::now(), value, nullptr);
        if (::write(1, &value, 1) != 1) break;
      }
      ::_exit(0);
    }
    ::close(orders[0]);
    ::close(done[1]);
    orders_ = sys::Fd(orders[1]);
    done_ = sys::Fd(done[0]);
  }
  ~Trainee() { kill(SIGKILL); }
  void log(char value) {
    ASSERT_EQ(::write(orders_.get(), &value, 1), 1);
    ASSERT_EQ(::read(done_.get(), &value, 1), 1);
  }
  void end() {
    orders_.reset();
    reap();
  }
  void kill(int signal) {
    if (pid_ > 0) ::kill(pid_, signal);
    reap();
  }
  [[nodiscard]] sys::ProcessIdentity identity() const { return sys::identity_of(pid_).value(); }

 private:
  void reap() {
    if (pid_ > 0) ::waitpid(pid_, nullptr, 0);
    pid_ = 0;
  }
  pid_t pid_ = 0;
  sys::Fd orders_;
  sys::Fd done_;
};

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
  EXPECT_EQ(spool::frame_files(run.directory.path()).size(), 1u);
  EXPECT_TRUE(segment_sessions(run.directory.segments()).empty());
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

// ---- finisher
spool::Manifest manifest_for(const spool::Destination& destination) {
  spool::Manifest m = spool::test_manifest();
  m.destination = destination;
  return m;
}
const spool::Destination kMine{.store = "/stores/mine", .server = {}};
const spool::Destination kOther{.store = "/stores/other", .server = {}};

TEST(Finisher, TakesOverWhatNobodyHoldsAndGoesToItsDestination) {
  const TestDirectory root;
  const auto abandoned = [&](const spool::Manifest& m) {
    const auto directory = spool::RunDirectory::create(root.path(), m).value();
    auto journal = spool::Journal::open(directory, 1 << 30).value();
    journal.describe(spool::session_body(m));
    return m;
  };
  const spool::Manifest mine = abandoned(manifest_for(kMine));
  const spool::Manifest other = abandoned(manifest_for(kOther));
  const auto held = spool::RunDirectory::create(root.path(), manifest_for(kMine)).value();
  FakeServer server;
  Finisher finisher({root.path()}, kMine);
  ASSERT_TRUE(finisher.step(server));
  ASSERT_TRUE(finisher.step(server));
  EXPECT_EQ(server.sessions.size(), 1u);
  EXPECT_TRUE(server.sessions.contains(mine.session));
  EXPECT_EQ(server.ends.size(), 1u);
  EXPECT_EQ(server.ends.at(0).reason, codec::EndReason::kUnknown);
  EXPECT_FALSE(server.ends.at(0).exit_code.has_value());
  EXPECT_FALSE(sys::fs::exists(root.path() / mine.run.hex()));
  EXPECT_TRUE(sys::fs::exists(root.path() / other.run.hex() / "manifest.json"));
  EXPECT_TRUE(sys::fs::exists(held.path() / "manifest.json"));
  EXPECT_TRUE(finisher.take_problems().empty());
}

TEST(Finisher, FollowsAChildThatLivesAndEndsTheRunWithoutClaimingToKnowHow) {
  Spooled run(manifest_for(kMine));
  Trainee trainee(run);
  ASSERT_TRUE(run.directory.set_child(trainee.identity()));
  ASSERT_TRUE(sys::replace_file(run.directory.output(codec::LogStream::kStdout), "hello "));
  trainee.log(1);
  const sys::fs::path path = run.directory.path();
  std::optional<spool::RunDirectory> supervisor(std::move(run.directory));
  supervisor.reset();  // killed: its lock is free
  FakeServer server;
  Finisher finisher({run.root.path()}, kMine);
  ASSERT_TRUE(finisher.step(server));
  EXPECT_EQ(server.values(), std::vector<double>{1});
  EXPECT_EQ(server.output, "hello ");
  EXPECT_TRUE(server.ends.empty());
  trainee.log(2);
  ASSERT_TRUE(finisher.step(server));
  EXPECT_EQ(server.values(), (std::vector<double>{1, 2}));
  trainee.log(3);
  trainee.end();
  for (int i = 0; i < 3 && sys::fs::exists(path); ++i) ASSERT_TRUE(finisher.step(server));
  EXPECT_EQ(server.values(), (std::vector<double>{1, 2, 3}));
  ASSERT_EQ(server.ends.size(), 1u);
  EXPECT_EQ(server.ends[0].reason, codec::EndReason::kUnknown);
  EXPECT_FALSE(sys::fs::exists(path));
}

// Says what is asked of it.
class SayingSuccessor final : public Successor {
 public:
  SayingSuccessor(std::vector<std::string>& said, spool::Journal& journal)
      : said_(said), journal_(journal) {}
  ~SayingSuccessor() override { said_.emplace_back("gone"); }
  void serve() override { said_.emplace_back("serve"); }
  [[nodiscard]] bool serving() const override { return true; }
  void end() override {
    said_.emplace_back("end");
    journal_.event("left open", {});
  }

 private:
  std::vector<std::string>& said_;
  spool::Journal& journal_;
};

TEST(Finisher, HasProgramsAnsweredForAsLongAsTheCommandLives) {
  Spooled run(manifest_for(kMine));
  Trainee trainee(run);
  trainee.log(1);  // from now on it holds nothing of the supervisor's
  ASSERT_TRUE(run.directory.set_child(trainee.identity()));
  const sys::fs::path path = run.directory.path();
  std::optional<spool::RunDirectory> supervisor(std::move(run.directory));
  FakeServer server;
  std::vector<std::string> said;
  Finisher finisher({run.root.path()}, kMine,
                    [&](const spool::RunDirectory&, spool::Journal& journal) {
                      return std::make_unique<SayingSuccessor>(said, journal);
                    });
  ASSERT_TRUE(finisher.step(server));
  EXPECT_TRUE(said.empty()) << "its supervisor lives";
  EXPECT_FALSE(finisher.serving());
  supervisor.reset();
  ASSERT_TRUE(finisher.step(server));
  EXPECT_EQ(said, std::vector<std::string>{"serve"});
  EXPECT_TRUE(finisher.serving());
  trainee.end();
  for (int i = 0; i < 3 && sys::fs::exists(path); ++i) ASSERT_TRUE(finisher.step(server));
  EXPECT_EQ(said, (std::vector<std::string>{"serve", "end", "gone"}));
  EXPECT_EQ(server.events, std::vector<std::string>{"left open"}) << "told before the end";
  EXPECT_EQ(server.ends.size(), 1U);
}

TEST(Finisher, AServerThatIsAwayLosesNothing) {
  Spooled run(manifest_for(kMine));
  run.journal.event("kept", {});
  const sys::fs::path path = run.directory.path();
  std::optional<spool::RunDirectory> supervisor(std::move(run.directory));
  supervisor.reset();
  FakeServer server;
  server.faults.assign(4, Fault::kLostRequest);
  Finisher finisher({run.root.path()}, kMine);
  EXPECT_FALSE(finisher.step(server));
  EXPECT_TRUE(sys::fs::exists(path));
  for (int i = 0; i < 8 && sys::fs::exists(path); ++i) static_cast<void>(finisher.step(server));
  EXPECT_EQ(server.events, std::vector<std::string>{"kept"});
  EXPECT_EQ(server.ends.size(), 1u);
  EXPECT_FALSE(sys::fs::exists(path));
}

TEST(Finisher, TellsHowManyLogCallsWereRefused) {
  Spooled run(manifest_for(kMine));
  const std::uint64_t refused = 5;
  spool::patch(run.directory.segments() / "drops", 0,
               {reinterpret_cast<const char*>(&refused), sizeof refused});
  const sys::fs::path path = run.directory.path();
  std::optional<spool::RunDirectory> supervisor(std::move(run.directory));
  supervisor.reset();
  FakeServer server;
  Finisher finisher({run.root.path()}, kMine);
  for (int i = 0; i < 3 && sys::fs::exists(path); ++i) ASSERT_TRUE(finisher.step(server));
  EXPECT_EQ(server.facts, (std::vector<codec::Fact>{{codec::FactKind::kDrop, "points", "5"}}));
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
