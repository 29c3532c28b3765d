#include "collect/foreign/exec_part.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>

#include "collect/foreign/foreign_sources.h"
#include "collect/foreign/test_sources.h"
#include "sys/file.h"
#include "sys/process.h"

namespace corral::collect::foreign {
namespace {

using std::chrono::milliseconds;

ExecSource source_of(std::string command, Nanos interval = kNoDuration) {
  ExecSource source;
  source.name = "test";
  source.command = std::move(command);
  source.interval = interval;
  return source;
}

bool is_gone(pid_t pid) {
  const auto identity = sys::identity_of(pid);
  return !identity || !sys::is_alive(*identity);
}

// The part alone, at a time that only the test moves; its commands are real.
struct ExecPartTest : ::testing::Test {
  ExecPart& make(const ExecSource& source) {
    return part.emplace(source,
                        ExecContext{.directory = "/", .environment = {"PATH=/usr/bin:/bin"}}, queue,
                        problems);
  }
  bool serve_until(const std::function<bool()>& holds, Nanos step = milliseconds(1)) {
    return eventually([&] {
      part->serve(now);
      now += step;
      return holds();
    });
  }
  // No process of it is there.
  [[nodiscard]] bool waits() const {
    std::vector<pollfd> descriptors;
    part->wait_for(descriptors);
    return descriptors.empty();
  }
  std::vector<std::string> messages() {
    for (const Problem& problem : problems.take()) told.push_back(problem.message);
    return told;
  }
  PointQueue queue;
  ProblemBox problems;
  Collected got{queue};
  BootTime now = boot_time(1'000'000'000'000);
  std::vector<std::string> told;
  std::optional<ExecPart> part;
};

TEST_F(ExecPartTest, IsStartedAgainWithGrowingPauses) {
  make(source_of("echo x 1; echo; echo no such device >&2; exit 3"));
  constexpr int kSeconds[] = {1, 2, 4, 8, 16, 32, 60, 60};
  for (std::size_t i = 0; i < std::size(kSeconds); ++i) {
    ASSERT_TRUE(serve_until([&] { return got.values("x").size() == i + 1 && waits(); })) << i;
    EXPECT_NEAR(seconds(part->due() - now), kSeconds[i], 0.1);
    now = part->due();
  }
  EXPECT_EQ(messages(),
            std::vector<std::string>{"ended with status 3: no such device; next try in 1.0 s"});
}

TEST_F(ExecPartTest, IsWellAgainWhenItRunsForAWhile) {
  const auto flag =
      std::filesystem::temp_directory_path() / ("corral-exec-test-" + std::to_string(::getpid()));
  std::filesystem::remove(flag);
  make(source_of("test -e " + flag.string() + " || { touch " + flag.string() +
                 "; exit 1; }; while :; do echo x 1; sleep 0.01; done"));
  ASSERT_TRUE(serve_until([&] { return !messages().empty(); }));
  now = part->due();
  ASSERT_TRUE(serve_until([&] { return !got.values("x").empty(); }));
  EXPECT_EQ(messages().size(), 1u) << "not yet";
  now += std::chrono::seconds(5);
  ASSERT_TRUE(serve_until([&] { return messages().size() == 2; }));
  EXPECT_EQ(messages()[1], "runs again");
  std::filesystem::remove(flag);
}

TEST_F(ExecPartTest, OneThatEndsWellIsRunOncePerInterval) {
  make(source_of("echo x 1", std::chrono::seconds(5)));
  const BootTime began = now;
  ASSERT_TRUE(serve_until([&] { return got.values("x").size() == 1 && waits(); }));
  EXPECT_LE(part->due(), began + std::chrono::seconds(5));
  now = part->due();
  ASSERT_TRUE(serve_until([&] { return got.values("x").size() == 2; }));
  EXPECT_TRUE(messages().empty());
}

TEST_F(ExecPartTest, OneThatHangsIsEndedAndStartedAgain) {
  make(source_of("echo x $$; exec sleep 1000", std::chrono::seconds(1)));
  ASSERT_TRUE(serve_until([&] { return !got.values("x").empty(); }));
  const auto pid = static_cast<pid_t>(got.values("x")[0]);
  now += std::chrono::seconds(3);
  ASSERT_TRUE(serve_until([&] { return !messages().empty(); }));
  EXPECT_TRUE(messages()[0].starts_with("printed nothing for 3.")) << messages()[0];
  EXPECT_TRUE(is_gone(pid));
}

TEST_F(ExecPartTest, OneThatClosesItsOutputIsEnded) {
  make(source_of("echo x 1; exec >/dev/null; exec sleep 1000"));
  ASSERT_TRUE(serve_until([&] { return !messages().empty(); }, milliseconds(50)));
  EXPECT_EQ(messages()[0], "closed its output; next try in 1.0 s");
}

TEST_F(ExecPartTest, SigtermThenSigkillForTheWholeGroup) {
  make(source_of("trap '' TERM; sleep 1000 & echo child $!; echo self $$; while :; do wait; done"));
  ASSERT_TRUE(serve_until([&] { return !got.values("self").empty(); }));
  const auto child = static_cast<pid_t>(got.values("child")[0]);
  const auto self = static_cast<pid_t>(got.values("self")[0]);
  part->stop(now, now + std::chrono::hours(1));
  part->serve(now);
  EXPECT_FALSE(part->done());
  now += milliseconds(1900);
  part->serve(now);
  EXPECT_FALSE(is_gone(self)) << "it ignores SIGTERM";
  now += milliseconds(101);
  ASSERT_TRUE(serve_until([&] { return part->done(); }));
  EXPECT_TRUE(is_gone(self));
  EXPECT_TRUE(eventually([&] { return is_gone(child); }));
}

TEST_F(ExecPartTest, WhatItPrintsWhileEndingIsTaken) {
  make(source_of("trap 'echo last 2; exit' TERM; echo x 1; while :; do sleep 0.01; done"));
  ASSERT_TRUE(serve_until([&] { return !got.values("x").empty(); }));
  part->stop(now, now + std::chrono::hours(1));
  ASSERT_TRUE(serve_until([&] { return part->done(); }));
  EXPECT_EQ(got.values("last"), std::vector<double>{2});
  EXPECT_TRUE(messages().empty());
}

TEST_F(ExecPartTest, AFloodIsHeldDownAndToldOnce) {
  ExecSource source = source_of("exec yes 'x 1'");
  source.max_points_per_s = 100;
  make(source);
  const BootTime began = now;
  ASSERT_TRUE(serve_until([&] { return !messages().empty(); }));
  const BootTime until = now + std::chrono::seconds(2);
  ASSERT_TRUE(serve_until([&] { return now > until; }, milliseconds(20)));
  EXPECT_EQ(messages().size(), 1u);
  const double most = 100 + 100 * seconds(now - began);
  EXPECT_LE(static_cast<double>(got.values("x").size()), most);
  EXPECT_GE(got.values("x").size(), 200u);
  EXPECT_GT(queue.dropped(), 1000u);
  part->stop(now, now);
  EXPECT_TRUE(serve_until([&] { return part->done(); }));
}

TEST_F(ExecPartTest, AFloodOfErrorsIsReadNoFaster) {
  make(source_of("echo x 1; yes oops >&2; exit"));  // the shell keeps its output open
  const auto waits_for = [&] {
    std::vector<pollfd> descriptors;
    part->wait_for(descriptors);
    return descriptors.size();
  };
  // Its output alone.
  ASSERT_TRUE(serve_until([&] { return waits_for() == 1; }, Nanos(0)));
  EXPECT_LE(part->due(), now + milliseconds(50));
  part->stop(now, now);
  EXPECT_TRUE(serve_until([&] { return part->done(); }));
}

TEST_F(ExecPartTest, GarbageAndHugeLinesAreLeftOut) {
  make(
      source_of("head -c 300000 /dev/zero; echo; head -c 2000 /dev/zero | tr '\\0' '\\377'; echo;"
                "echo y 2; sleep 1000"));
  ASSERT_TRUE(serve_until([&] { return !got.values("y").empty(); }, milliseconds(20)));
  EXPECT_EQ(got.names(), std::vector<std::string>{"y"});
  ASSERT_EQ(messages().size(), 1u);
  EXPECT_EQ(messages()[0], "prints a line of more than 64 KiB: it is skipped");
}

TEST_F(ExecPartTest, OneThatIsNotThereIsTold) {
  ExecSource source = source_of("");
  source.argv = {"corral-no-such-program"};
  make(source);
  part->serve(now);
  EXPECT_EQ(messages(), std::vector<std::string>{"cannot be started: corral-no-such-program: "
                                                 "command not found; next try in 1.0 s"});
}

TEST(ForeignExec, ACommandRunsInItsPlaceAndEndsWithTheRun) {
  PointQueue queue;
  Collected got(queue);
  Sources sources;
  sources.exec = {
      source_of("echo run $CORRAL_RUN_PID; echo self $$; test \"$PWD\" = /usr && "
                "echo place 1; echo extra $EXTRA; exec sleep 1000")};
  auto opened = ForeignSources::open(
      sources,
      {.directory = "/usr", .environment = {"PATH=/usr/bin:/bin", "EXTRA=7"}, .queue = &queue});
  ASSERT_TRUE(opened);
  ASSERT_TRUE((*opened)->start(42));
  ASSERT_TRUE(eventually([&] { return !got.values("extra").empty(); }));
  EXPECT_EQ(got.values("run"), std::vector<double>{42});
  EXPECT_EQ(got.values("place"), std::vector<double>{1});
  EXPECT_EQ(got.values("extra"), std::vector<double>{7});
  const auto self = static_cast<pid_t>(got.values("self")[0]);
  EXPECT_FALSE(is_gone(self));
  (*opened)->stop(sys::boot_now() + std::chrono::seconds(10));
  EXPECT_TRUE(is_gone(self));
  EXPECT_TRUE((*opened)->problems().empty());
}

// The supervisor's part of the next test, in a process of its own: prints the command's pid.
[[noreturn]] void supervise(int report) {
  PointQueue queue;
  Collected got(queue);
  Sources sources;
  sources.exec = {source_of("echo self $$; trap '' TERM; while :; do sleep 0.05; done")};
  auto opened = ForeignSources::open(
      sources, {.directory = "/", .environment = {"PATH=/usr/bin:/bin"}, .queue = &queue});
  if (!opened || !(*opened)->start()) ::_exit(1);
  if (!eventually([&] { return !got.values("self").empty(); })) ::_exit(1);
  const auto pid = static_cast<pid_t>(got.values("self")[0]);
  if (::write(report, &pid, sizeof pid) != sizeof pid) ::_exit(1);
  for (;;) ::pause();
}

TEST(ForeignExec, NoCommandOutlivesAKilledSupervisor) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const pid_t supervisor = ::fork();
  ASSERT_GE(supervisor, 0);
  if (supervisor == 0) supervise(ends[1]);
  ::close(ends[1]);
  pid_t command = 0;
  ASSERT_EQ(::read(ends[0], &command, sizeof command), static_cast<ssize_t>(sizeof command));
  ::close(ends[0]);
  EXPECT_FALSE(is_gone(command));
  ::kill(supervisor, SIGKILL);
  ::waitpid(supervisor, nullptr, 0);
  EXPECT_TRUE(eventually([&] { return is_gone(command); }));
}

}  // namespace
}  // namespace corral::collect::foreign
