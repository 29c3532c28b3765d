#include "collect/pressure/stall_watch.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <fstream>

#include "collect/test_roots.h"
#include "sys/clock.h"

namespace corral::collect {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

TEST(EventLimit, TellsAtOnceThenRarelyAndLosesNoCount) {
  EventLimit limit;
  const BootTime start = boot_time(0) + minutes(5);
  EXPECT_EQ(limit.note(start), 1u);
  EXPECT_EQ(limit.note(start + seconds(1)), std::nullopt);
  EXPECT_EQ(limit.note(start + seconds(9), 3), std::nullopt);
  EXPECT_EQ(limit.note(start + seconds(10)), 5u);
  std::uint64_t told = 0;
  int events = 0;
  for (int s = 11; s < 24 * 3600; ++s) {
    if (const auto count = limit.note(start + seconds(s))) {
      told += *count;
      ++events;
    }
  }
  EXPECT_LT(events, 160);  // a day of it
  EXPECT_EQ(told + limit.rest(), 24 * 3600 - 11u);
  // After a calm time it is news again.
  const BootTime later = start + seconds(25 * 3600);
  EXPECT_EQ(limit.note(later), 1u);
  EXPECT_EQ(limit.note(later + seconds(10)), 1u);
}

TEST(StallOptions, NameWhatIsWrong) {
  StallOptions options;
  EXPECT_TRUE(check(options));
  options.resources = {"disk"};
  EXPECT_EQ(check(options).error().message, "resources: unknown 'disk': expected cpu, memory, io");
  options.resources = {};
  options.window = milliseconds(400);
  EXPECT_EQ(check(options).error().message, "window: must be from 500 ms to 10 s");
  options.window = seconds(1);
  options.stall = seconds(2);
  EXPECT_EQ(check(options).error().message, "stall: must be from 1 ms to the window");
}

TEST(StallWatch, SaysWhatIsNotThereAndStartsNoThread) {
  const FakeRoot root;
  StallWatch watch({}, {.root = root.path(), .run_pid = 1});
  ASSERT_EQ(watch.unavailable().size(), 3u);
  EXPECT_EQ(watch.unavailable()[1].source, "events of memory pressure");
  EXPECT_NE(watch.unavailable()[1].reason.find("does not record pressure"), std::string::npos);
  EXPECT_TRUE(watch.watched().empty());
  EXPECT_TRUE(watch.start());
  watch.stop();
  EXPECT_TRUE(watch.take().empty());
}

// A group of v2 below one with a quota.
constexpr const char* kMounts = "30 1 0:26 / /sys/fs/cgroup rw shared:4 - cgroup2 cgroup2 rw\n";
constexpr const char* kGroup = "sys/fs/cgroup/job/run/";

TEST(StallWatch, TellsLimitsThatWereMet) {
  const std::string group = kGroup;
  const FakeRoot root{{"proc/7/cgroup", "0::/job/run\n"},
                      {"proc/self/mountinfo", kMounts},
                      {group + "cgroup.type", "domain\n"},
                      {group + "cpu.stat", "usage_usec 1\nnr_periods 9\nnr_throttled 0\n"},
                      {group + "memory.events", "low 0\nhigh 2\nmax 0\noom 0\noom_kill 0\n"},
                      {"sys/fs/cgroup/job/cpu.stat", "nr_periods 9\nnr_throttled 4\n"}};
  StallOptions no_stalls;
  no_stalls.resources = {};
  StallWatch watch(no_stalls, {.root = root.path(), .run_pid = 7});
  EXPECT_EQ(watch.watched(), std::vector<std::string>{"limits of the group"});
  root.write("sys/fs/cgroup/job/cpu.stat", "nr_periods 20\nnr_throttled 9\n");
  root.write(group + "memory.events", "low 0\nhigh 2\nmax 3\noom 1\noom_kill 1\n");
  ASSERT_TRUE(watch.start());
  watch.stop();  // looks once more
  std::vector<std::string> told;
  for (const StallEvent& event : watch.take())
    told.push_back(event.name + " " + event.attributes.at(0).second);
  std::ranges::sort(told);
  EXPECT_EQ(told, (std::vector<std::string>{"CPU quota reached 5", "killed: out of memory 1",
                                            "memory limit reached 3"}));
}

// The kernel's own: more threads than CPUs want to run.
TEST(StallWatch, TellsThatTheCpuIsWanted) {
  StallOptions options;
  options.resources = {"cpu"};
  options.stall = milliseconds(20);
  options.window = milliseconds(500);
  StallWatch watch(options, {.run_pid = ::getpid(), .group = false});
  if (watch.watched().empty()) GTEST_SKIP() << watch.unavailable()[0].reason;
  const BootTime begun = sys::boot_now();
  ASSERT_TRUE(watch.start());
  std::atomic<bool> stop = false;
  std::vector<std::thread> burners;
  for (unsigned i = 0; i < 2 * std::thread::hardware_concurrency() + 1; ++i) {
    burners.emplace_back([&] {
      while (!stop) {
      }
    });
  }
  std::vector<StallEvent> events;
  while (events.empty() && sys::boot_now() < begun + seconds(60)) {
    events = watch.take();
    std::this_thread::sleep_for(milliseconds(5));
  }
  stop = true;
  for (std::thread& burner : burners) burner.join();
  watch.stop();
  ASSERT_FALSE(events.empty());
  EXPECT_EQ(events[0].name, "cpu pressure");
  EXPECT_GE(events[0].time, begun);
  EXPECT_EQ(events[0].attributes.at(0).first, "threshold");
  EXPECT_NE(watch.watched().at(0).find(events[0].attributes[0].second.substr(1, 8)),
            std::string::npos);
  EXPECT_EQ(events[0].attributes.at(1), (std::pair<std::string, std::string>{"count", "1"}));
  EXPECT_GT(std::stod(events[0].attributes.at(2).second), 0.01);
}

}  // namespace
}  // namespace corral::collect
