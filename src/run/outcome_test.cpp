// Tests of Outcome, Placement and Gate, without any process.
#include "run/outcome.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <set>

#include "run/gate.h"
#include "run/placement.h"
#include "spool/test_spool.h"
#include "sys/clock.h"

namespace corral::run {
namespace {

using spool::TestDirectory;

// ---- outcome
OutcomeKind kind_of(const Ending& ending) { return classify_end(ending).kind; }

TEST(Outcome, NamesAreAClosedSet) {
  const std::set<std::string_view> names(kOutcomeNames.begin(), kOutcomeNames.end());
  EXPECT_EQ(names.size(), kOutcomeNames.size());
  EXPECT_EQ(outcome_name(OutcomeKind::kFinished), "finished");
  EXPECT_EQ(outcome_name(OutcomeKind::kUnknown), "unknown");
}

TEST(Outcome, StatusAndSignalDecideWhenNothingElseIsKnown) {
  EXPECT_EQ(kind_of({.exit_code = 0}), OutcomeKind::kFinished);
  EXPECT_EQ(kind_of({.exit_code = 1}), OutcomeKind::kFailed);
  EXPECT_EQ(kind_of({.exit_signal = SIGSEGV}), OutcomeKind::kKilled);
  EXPECT_EQ(kind_of({.seen = false}), OutcomeKind::kUnknown);
  EXPECT_EQ(classify_end({.exit_signal = SIGSEGV}).reason, "ended by SIGSEGV");
  EXPECT_EQ(classify_end({.exit_code = 3, .tail = "epoch 1\nno such file\n\n"}).reason,
            "exit status 3: no such file");
}

TEST(Outcome, WhatCorralAskedForComesBeforeHowTheCommandTookIt) {
  EXPECT_EQ(kind_of({.exit_code = 0, .asked = Asked::kLimit}), OutcomeKind::kLimit);
  EXPECT_EQ(kind_of({.exit_signal = SIGKILL, .asked = Asked::kInterrupt, .group_oom_kills = 1}),
            OutcomeKind::kInterrupted);
  const Outcome stopped =
      classify_end({.exit_signal = SIGINT, .asked = Asked::kStop, .stop_reason = "B ended"});
  EXPECT_EQ(stopped.kind, OutcomeKind::kStopped);
  EXPECT_EQ(stopped.reason, "B ended");
  EXPECT_EQ(stopped.exit_signal, SIGINT);
}

TEST(Outcome, AScriptThatEndsByALimitOfItsOwnAccord) {
  const Outcome limited = classify_end({.exit_code = 0, .limit = "--max-epochs 3\n"});
  EXPECT_EQ(limited.kind, OutcomeKind::kLimit);
  EXPECT_EQ(limited.reason, "--max-epochs 3 was reached");
  EXPECT_EQ(limited.exit_code, 0);
  // A later failure, or a requested end, counts more.
  EXPECT_EQ(kind_of({.exit_code = 1, .limit = "--max-epochs 3"}), OutcomeKind::kFailed);
  EXPECT_EQ(kind_of({.exit_code = 0, .asked = Asked::kStop, .limit = "--max-steps 1"}),
            OutcomeKind::kStopped);
  EXPECT_EQ(kind_of({.seen = false, .limit = "--max-steps 1"}), OutcomeKind::kUnknown);
}

TEST(Outcome, MemoryThatTheKernelTookBack) {
  EXPECT_EQ(kind_of({.exit_signal = SIGKILL, .group_oom_kills = 1}), OutcomeKind::kOutOfMemory);
  // A worker was killed; the command noticed and gave up.
  EXPECT_EQ(kind_of({.exit_code = 1, .group_oom_kills = 2}), OutcomeKind::kOutOfMemory);
  EXPECT_EQ(kind_of({.exit_signal = SIGKILL, .host_oom_kills = 1}), OutcomeKind::kOutOfMemory);
  EXPECT_EQ(kind_of({.exit_code = 137, .host_oom_kills = 1}), OutcomeKind::kOutOfMemory);
  // A process of another run was killed.
  EXPECT_EQ(kind_of({.exit_code = 1, .host_oom_kills = 1}), OutcomeKind::kFailed);
  EXPECT_EQ(kind_of({.exit_signal = SIGKILL}), OutcomeKind::kKilled);
  // It survived.
  EXPECT_EQ(kind_of({.exit_code = 0, .group_oom_kills = 1}), OutcomeKind::kFinished);
}

TEST(Outcome, WhatFrameworksSayOfMemory) {
  for (const char* line :
       {"torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 MiB.",
        "jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying",
        "RuntimeError: CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`",
        "numpy.core._exceptions._ArrayMemoryError: Unable to allocate 8.00 TiB", "MemoryError",
        "terminate called after throwing an instance of 'std::bad_alloc'"}) {
    const std::string tail = std::string("epoch 3\n") + line + "\n  more\n";
    const Outcome outcome = classify_end({.exit_code = 1, .tail = tail});
    EXPECT_EQ(outcome.kind, OutcomeKind::kOutOfMemory) << line;
    EXPECT_EQ(outcome.reason, line);
    EXPECT_EQ(kind_of({.exit_code = 0, .tail = tail}), OutcomeKind::kFinished) << line;
  }
  EXPECT_EQ(kind_of({.exit_code = 1, .tail = "see my_MemoryErrorHandler.py"}),
            OutcomeKind::kFailed);
}

TEST(Outcome, ANeighboursFaultUnderMps) {
  const Outcome outcome = classify_end(
      {.exit_code = 1,
       .tail = "RuntimeError: CUDA error: the MPS client has been terminated by the server\n"});
  EXPECT_EQ(outcome.kind, OutcomeKind::kNeighbour);
  // The last message counts.
  EXPECT_EQ(kind_of({.exit_code = 1,
                     .tail = "CUDA out of memory, trying a smaller batch\n"
                             "CUDA_ERROR_MPS_CLIENT_TERMINATED\n"}),
            OutcomeKind::kNeighbour);
}

TEST(Outcome, LastLinesAreReadable) {
  EXPECT_EQ(last_lines("a\nb\n\n c \n\n", 2), (std::vector<std::string>{"b", "c"}));
  EXPECT_EQ(last_lines("10%\r20%\r30%", 5), (std::vector<std::string>{"30%"}));
  EXPECT_EQ(last_lines("x\x1b[31mred\x1b[0m\n", 1), (std::vector<std::string>{"x [31mred [0m"}));
  EXPECT_TRUE(last_lines("", 5).empty());
  EXPECT_LT(last_lines(std::string(10'000, 'x'), 1)[0].size(), 400u);
}

// ---- placement
TEST(Placement, ListsOfGroups) {
  EXPECT_EQ(parse_groups("/a:/b/c")->size(), 2u);
  EXPECT_FALSE(parse_groups("a"));
}

TEST(Placement, KillsOfBothKindsOfGroups) {
  const TestDirectory dir;
  const auto write = [&](const char* group, const char* file, const char* text) {
    sys::fs::create_directories(dir.path() / group);
    ASSERT_TRUE(sys::replace_file(dir.path() / group / file, text));
  };
  write("v1", "memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 3\n");
  write("v2", "memory.events", "low 0\nhigh 0\nmax 7\noom 2\noom_kill 1\n");
  EXPECT_EQ(count_oom_kills({dir.path() / "v1"}), 3u);
  EXPECT_EQ(count_oom_kills({dir.path() / "v2"}), 1u);
  EXPECT_EQ(count_oom_kills({dir.path() / "v1", dir.path() / "v2", dir.path() / "none"}), 4u);
}

// ---- gate
struct GateTest : ::testing::Test {
  void SetUp() override {
    std::array<int, 2> pipe{};
    std::array<int, 2> pair{};
    ASSERT_EQ(::pipe2(pipe.data(), O_CLOEXEC), 0);
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, pair.data()), 0);
    release.reset(pipe[1]);
    scheduler.reset(pair[0]);
    gate.emplace(
        GateOptions{.release = pipe[0], .reports = pair[1], .last_word = dir.path() / "word.json"});
  }
  std::string heard() const {
    std::string text(4096, '\0');
    const ssize_t n = ::recv(scheduler.get(), text.data(), text.size(), MSG_DONTWAIT);
    text.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
    return text;
  }
  static BootTime at(int ms) { return BootTime(std::chrono::milliseconds(ms)); }
  TestDirectory dir;
  sys::Fd release;
  sys::Fd scheduler;
  std::optional<Gate> gate;
};

TEST_F(GateTest, AByteReleasesAndAnEndOnlyAfterAMoment) {
  EXPECT_EQ(gate->poll_release(at(0)), Gate::Release::kPending);
  EXPECT_FALSE(gate->wake_at());
  ASSERT_EQ(::write(release.get(), "g", 1), 1);
  EXPECT_EQ(gate->poll_release(at(0)), Gate::Release::kOpen);
}

TEST_F(GateTest, TheEndAloneReleasesAfterAMoment) {
  release.reset();
  EXPECT_EQ(gate->poll_release(at(100)), Gate::Release::kPending);
  ASSERT_TRUE(gate->wake_at());
  EXPECT_EQ(gate->poll_release(*gate->wake_at() - Nanos(1)), Gate::Release::kPending);
  EXPECT_EQ(gate->poll_release(*gate->wake_at()), Gate::Release::kOpen);
}

TEST_F(GateTest, ASchedulerThatEndsReleasesNothing) {
  release.reset();
  EXPECT_EQ(gate->poll_release(at(0)), Gate::Release::kPending);
  scheduler.reset();
  EXPECT_EQ(gate->poll_release(at(1000)), Gate::Release::kNever);
}

TEST_F(GateTest, ReportsAreLinesAndTheLastStays) {
  gate->ready();
  gate->started(at(5), 4711);
  gate->ended({.kind = OutcomeKind::kFailed, .reason = "why", .exit_code = 2}, {"last"}, at(7));
  const std::string end =
      R"({"outcome":"failed","reason":"why","exit_code":2,"ended_ns":7000000,"tail":["last"]})"
      "\n";
  EXPECT_EQ(heard(), "{\"ready\":true}\n{\"started_ns\":5000000,\"pid\":4711}\n" + end);
  EXPECT_EQ(*sys::read_file(dir.path() / "word.json"), end);
}

TEST_F(GateTest, WishesComeAsLinesInAnyPieces) {
  const auto say = [&](std::string_view text) {
    ASSERT_EQ(::send(scheduler.get(), text.data(), text.size(), 0),
              static_cast<ssize_t>(text.size()));
  };
  EXPECT_TRUE(gate->read_requests().empty());
  say(R"({"tags":{"a":"b","n":1}})"
      "\nnonsense\n{\"stop\":\"it");
  auto requests = gate->read_requests();
  ASSERT_EQ(requests.size(), 1u);
  EXPECT_EQ(requests[0].tags, (std::vector<std::pair<std::string, std::string>>{{"a", "b"}}));
  EXPECT_FALSE(requests[0].stop);
  say(" is over\"}\n{\"status\":256}\n");
  requests = gate->read_requests();
  ASSERT_EQ(requests.size(), 2u);
  EXPECT_EQ(requests[0].stop, "it is over");
  EXPECT_FALSE(requests[0].status);
  EXPECT_EQ(requests[1].status, 256);
  scheduler.reset();
  EXPECT_TRUE(gate->read_requests().empty());
  EXPECT_EQ(gate->reports_descriptor(), -1);
}

TEST(Gate, WithoutOneEverythingGoesAtOnce) {
  Gate gate({});
  gate.ready();
  EXPECT_EQ(gate.poll_release(BootTime{}), Gate::Release::kOpen);
  gate.ended({.kind = OutcomeKind::kFinished});
}

}  // namespace
}  // namespace corral::run
