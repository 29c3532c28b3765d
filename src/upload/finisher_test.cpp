// The finisher brings the runs of killed supervisors to their server.
#include "upload/finisher.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <optional>

#include "upload/artifacts.h"
#include "upload/fake_server.h"
#include "upload/test_upload.h"

namespace corral::upload {
namespace {

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
  spool::Manifest begun = manifest_for(kMine);
  begun.begun = boot_time(2000);
  const spool::Manifest mine = abandoned(begun);
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

// The machine was restarted, or its server came days later: the present is not when the run ended.
TEST(Finisher, ARunWhoseCommandIsGoneEndedWhenItWroteLast) {
  const TestDirectory root;
  spool::Manifest m = manifest_for(kMine);
  m.begun = m.started;
  m.supervisor.boot_id = std::string(32, '0');
  sys::fs::path files;
  {
    const auto directory = spool::RunDirectory::create(root.path(), m).value();
    auto journal = spool::Journal::open(directory, 1 << 30).value();
    journal.describe(spool::session_body(m));
    files = directory.path();
  }
  const UtcTime wrote = utc_time(ns_of(m.anchor.to_utc(m.started)) + 3'600'000'000'000);
  const timespec time{.tv_sec = ns_of(wrote) / 1'000'000'000,
                      .tv_nsec = ns_of(wrote) % 1'000'000'000};
  for (const auto& entry : sys::fs::directory_iterator(files)) {
    const timespec both[] = {time, time};
    ASSERT_EQ(::utimensat(AT_FDCWD, entry.path().c_str(), both, 0), 0);
  }
  FakeServer server;
  Finisher finisher({root.path()}, kMine);
  ASSERT_TRUE(finisher.step(server));
  ASSERT_TRUE(finisher.step(server));
  ASSERT_EQ(server.ends.size(), 1u);
  EXPECT_EQ(m.anchor.to_utc(server.ends[0].time), wrote);
  EXPECT_EQ(server.events, std::vector<std::string>{"health"});
}

TEST(Finisher, ARunWhoseSupervisorSawItsEndIsOnlyDelivered) {
  const TestDirectory root;
  spool::Manifest m = manifest_for(kMine);
  m.begun = m.started;
  {
    const auto directory = spool::RunDirectory::create(root.path(), m).value();
    auto journal = spool::Journal::open(directory, 1 << 30).value();
    journal.describe(spool::session_body(m));
    journal.run_end({.time = boot_time(9000),
                     .reason = codec::EndReason::kExit,
                     .exit_code = 0,
                     .exit_signal = {}});
  }
  FakeServer server;
  Finisher finisher({root.path()}, kMine);
  ASSERT_TRUE(finisher.step(server));
  ASSERT_TRUE(finisher.step(server));
  ASSERT_EQ(server.ends.size(), 1u);
  EXPECT_EQ(server.ends[0].reason, codec::EndReason::kExit);
  EXPECT_TRUE(server.events.empty()) << "nobody was killed before the end";
}

TEST(Finisher, ARunThatNeverBeganIsNotStarted) {
  const TestDirectory root;
  const spool::Manifest m = manifest_for(kMine);
  {
    const auto directory = spool::RunDirectory::create(root.path(), m).value();
    auto journal = spool::Journal::open(directory, 1 << 30).value();
    journal.describe(spool::session_body(m));
  }
  FakeServer server;
  Finisher finisher({root.path()}, kMine);
  ASSERT_TRUE(finisher.step(server));
  ASSERT_TRUE(finisher.step(server));
  ASSERT_EQ(server.ends.size(), 1u);
  EXPECT_EQ(server.ends[0].reason, codec::EndReason::kNotStarted);
  std::map<std::string, std::string> tags;
  for (const codec::Fact& fact : server.facts)
    if (fact.kind == codec::FactKind::kTag) tags[fact.key] = fact.value;
  EXPECT_EQ(
      tags,
      (std::map<std::string, std::string>{
          {"corral.outcome", "not-started"},
          {"corral.outcome.reason", "its supervisor was killed before the command started"}}));
}

// Killed between the release of its command and the note of that.
TEST(Finisher, ARunThatWroteSomethingHasStarted) {
  const TestDirectory root;
  const spool::Manifest m = manifest_for(kMine);
  {
    const auto directory = spool::RunDirectory::create(root.path(), m).value();
    auto journal = spool::Journal::open(directory, 1 << 30).value();
    journal.describe(spool::session_body(m));
    ASSERT_TRUE(sys::replace_file(directory.path() / spool::output_name(codec::LogStream::kStdout),
                                  "hello\n"));
  }
  FakeServer server;
  Finisher finisher({root.path()}, kMine);
  ASSERT_TRUE(finisher.step(server));
  ASSERT_TRUE(finisher.step(server));
  ASSERT_EQ(server.ends.size(), 1u);
  EXPECT_EQ(server.ends[0].reason, codec::EndReason::kUnknown);
}

TEST(Finisher, FollowsAChildThatLivesAndEndsTheRunWithoutClaimingToKnowHow) {
  Spooled run(manifest_for(kMine));
  Trainee trainee(run);
  ASSERT_TRUE(run.directory.set_child(trainee.identity()));
  ASSERT_TRUE(sys::replace_file(
      run.directory.path() / spool::output_name(codec::LogStream::kStdout), "hello "));
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
  EXPECT_EQ(server.events, (std::vector<std::string>{"left open", "health"})) << "before the end";
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

TEST(Finisher, RunsWhoseDataDoesNotGoThroughHoldNoOtherUp) {
  const TestDirectory root;
  std::array<spool::Manifest, 3> runs = {manifest_for(kMine), manifest_for(kMine),
                                         manifest_for(kMine)};
  std::ranges::sort(runs, {}, [](const spool::Manifest& m) { return m.run.hex(); });
  for (const spool::Manifest& m : runs) {
    const auto directory = spool::RunDirectory::create(root.path(), m).value();
    auto journal = spool::Journal::open(directory, 1 << 30).value();
    journal.describe(spool::session_body(m));
    journal.event(&m == &runs[1] ? "fine" : "stuck", {});
  }
  const auto is_there = [&](std::size_t i) {
    return sys::fs::exists(root.path() / runs.at(i).run.hex());
  };
  FakeServer server;
  server.refuse = [](const std::vector<std::string>& events) {
    return std::ranges::count(events, "stuck") > 0 ? std::optional(Code::kNoSpace) : std::nullopt;
  };
  Finisher finisher({root.path()}, kMine);
  for (int i = 0; i < 8 && is_there(1); ++i) EXPECT_FALSE(finisher.step(server));
  EXPECT_FALSE(is_there(1));
  EXPECT_TRUE(is_there(0) && is_there(2));
  EXPECT_EQ(server.events, std::vector<std::string>{"fine"});
  server.refuse = {};
  for (int i = 0; i < 3 && finisher.unfinished() > 0; ++i) EXPECT_TRUE(finisher.step(server));
  EXPECT_FALSE(is_there(0) || is_there(2));
  EXPECT_EQ(server.ends.size(), 3u);
}

TEST(Finisher, TellsHowManyLogCallsWereRefused) {
  Spooled run(manifest_for(kMine));
  ASSERT_TRUE(run.directory.set_begun(boot_time(2000)));
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

TEST(Artifacts, ACallThatAPowerCutLeftEmptyIsPutAsideAndHoldsNothingUp) {
  const TestDirectory root;
  ASSERT_TRUE(spool::keep_call(root.files(), {.path = "/api/first", .body = "{}"}));
  const auto waiting = spool::waiting_calls(root.files());
  ASSERT_EQ(waiting.size(), 1u);
  ASSERT_TRUE(sys::replace_file(root.path() / "calls" / waiting[0], ""));
  sys::HttpClient nobody({.base_url = "http://127.0.0.1:1", .unix_socket = {}, .token = {}});
  const std::atomic<bool> never{false};
  const auto report = send_artifacts(root.files(), nobody, never, Knowledge::kAssumed);
  ASSERT_TRUE(report) << report.error().message;
  ASSERT_EQ(report->refused.size(), 1u);
  EXPECT_NE(report->refused[0].find(waiting[0]), std::string::npos);
  EXPECT_FALSE(spool::anything_waits(root.files()));
  EXPECT_EQ(sys::list_directory(root.path() / "refused").size(), 1u);
}

}  // namespace
}  // namespace corral::upload
