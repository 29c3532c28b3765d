// No PMU is needed: events of the kernel's software stand in for the processor's.
#include "collect/tree/perf_counters.h"

#include <gtest/gtest.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>

namespace corral::collect {
namespace {

TEST(HardwareCounters, ScaleWhatHadToTakeTurns) {
  EXPECT_EQ(scaled({.value = 100, .enabled = 10, .running = 10}), 100);
  EXPECT_EQ(scaled({.value = 100, .enabled = 10, .running = 4}), 250);
  EXPECT_EQ(scaled({.value = 0, .enabled = 0, .running = 0}), 0) << "before the exec";
  EXPECT_FALSE(scaled({.value = 0, .enabled = 10, .running = 0})) << "never counted is not 0";
}

TEST(HardwareCounters, OfAProcessThatEndsAreKept) {
  std::array<HardwareEvent, kHardwareEvents> events{};
  for (HardwareEvent& event : events)
    event = {.metric = "", .type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_TASK_CLOCK};
  events[5].config = 99999;
  std::array<int, 2> gate{};
  ASSERT_EQ(::pipe(gate.data()), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    char c = 0;
    [[maybe_unused]] const ssize_t n = ::read(gate[0], &c, 1);
    ::execl("/bin/true", "true", nullptr);
    ::_exit(127);
  }
  HardwareCounters counters = HardwareCounters::open(child, events);
  if (!counters.counts_anything()) {
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    GTEST_SKIP() << counters.reason(0);
  }
  counters.read();
  EXPECT_EQ(counters.value(0), 0) << "counting starts at the exec";
  EXPECT_EQ(counters.share(), 1.0);
  ASSERT_EQ(::write(gate[1], "x", 1), 1);
  ::waitpid(child, nullptr, 0);
  counters.read();
  const auto nanoseconds = counters.value(0);
  ASSERT_TRUE(nanoseconds);
  EXPECT_GT(*nanoseconds, 1000);
  EXPECT_EQ(counters.share(), 1.0) << "the kernel's own events never wait";
  EXPECT_FALSE(counters.counts(5));
  EXPECT_NE(counters.reason(5).find("no such counter"), std::string::npos) << counters.reason(5);
  EXPECT_FALSE(counters.value(5));
  ::close(gate[0]);
  ::close(gate[1]);
}

TEST(HardwareCounters, AnythingElseHasNoValueAndNoReason) {
  HardwareCounters counters;
  counters.read();
  EXPECT_FALSE(counters.value(0));
  EXPECT_FALSE(counters.share());
  EXPECT_FALSE(counters.counts_anything());
  EXPECT_TRUE(counters.reason(0).empty());
}

}  // namespace
}  // namespace corral::collect
