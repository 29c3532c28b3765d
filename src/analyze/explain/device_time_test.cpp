#include "analyze/explain/device_time.h"

#include <gtest/gtest.h>

#include <limits>

namespace corral::analyze {
namespace {

using codec::PhaseKind;

constexpr const char* kStream = "node7/rank1/GPU 0/stream 7";
constexpr Window kAllTime{.from = utc_time(0), .to = utc_time(1'000'000'000'000)};

// A kernel from `begin` to `end` (ns), launched at `launched`; below 0: not known.
void add_kernel(DeviceRecord& record, std::int64_t begin, std::int64_t end, std::int64_t launched,
                PhaseKind kind = PhaseKind::kCompute, const char* lane = kStream) {
  const std::string attributes =
      launched < 0 ? "" : "{\"queued_ns\":" + std::to_string(begin - launched) + "}";
  record.add({.begin = utc_time(begin),
              .end = utc_time(end),
              .name = "kernel",
              .lane = lane,
              .attributes = attributes,
              .kind = kind});
}

void add_trace(DeviceRecord& record, std::int64_t begin, std::int64_t end) {
  record.add({.begin = utc_time(begin),
              .end = utc_time(end),
              .name = "profiled",
              .lane = "node7/rank1/profiler/trace",
              .attributes = "{}"});
}

TEST(DeviceTime, TheTraceOfAnotherRankRecordsNothingOfADevice) {
  DeviceRecord record;
  add_trace(record, 0, 1000);
  add_trace(record, 9000, 10'000);
  record.add({.begin = utc_time(0),
              .end = utc_time(10'000),
              .name = "profiled",
              .lane = "node7/rank0/profiler/trace",
              .attributes = "{}"});
  add_kernel(record, 0, 1000, 0);
  add_kernel(record, 9000, 10'000, 8990);
  const auto times = find_device_time(record, kAllTime);
  ASSERT_EQ(times.size(), 1U);
  EXPECT_EQ(times.front().idle(), Nanos(0));
}

TEST(DeviceTime, IdleTimeIsSplitByItsCause) {
  DeviceRecord record;
  add_kernel(record, 1000, 2000, 900);
  add_kernel(record, 2029, 3000, 1500);  // 29 ns, launched before: a kernel's pause
  add_kernel(record, 3030, 4000, 1600);  // 30 ns: another cause
  add_kernel(record, 4500, 5000, 4001);  // 500 ns: launched after the end of the one before
  add_kernel(record, 5100, 6000, 5000);  // 100 ns: launched right at its end, so not after
  add_kernel(record, 6007, 7000, -1);    // 7 ns: its launch is not known
  const auto times = find_device_time(record, kAllTime);
  ASSERT_EQ(times.size(), 1U);
  const DeviceTime& time = times.front();
  EXPECT_EQ(time.device, "node7/rank1/GPU 0");
  EXPECT_EQ(time.rank, 1);
  EXPECT_EQ(std::tuple(time.phases, time.streams), std::tuple(6, 1));
  EXPECT_EQ(time.kernel_wait, Nanos(29));
  EXPECT_EQ(time.other, Nanos(30 + 100));
  EXPECT_EQ(time.host_wait, Nanos(500));
  EXPECT_EQ(time.unknown, Nanos(7));
  EXPECT_EQ(time.busy + time.idle(), time.window.length());
  EXPECT_EQ(time.window.length(), Nanos(6000));
  EXPECT_EQ(time.text,
            "node7/rank1/GPU 0 was busy 88.9 % of 6 µs; 75.1 % of its idle time waited for the "
            "host's next launch.");
}

TEST(DeviceTime, KindsAreCoveredTimeAndMayOverlap) {
  DeviceRecord record;
  const char* other = "node7/rank1/GPU 0/stream 20";
  add_kernel(record, 0, 100, 0);
  add_kernel(record, 50, 150, 0);  // beside it: compute is 150, not 200
  add_kernel(record, 120, 220, 0, PhaseKind::kComm, other);
  add_kernel(record, 200, 260, 0, PhaseKind::kIo, other);
  const DeviceTime time = find_device_time(record, kAllTime).front();
  EXPECT_EQ(time.compute, Nanos(150));
  EXPECT_EQ(time.communication, Nanos(100));
  EXPECT_EQ(time.memory, Nanos(60));
  EXPECT_EQ(time.overlap, Nanos(30));
  EXPECT_EQ(time.busy, Nanos(260));
  EXPECT_EQ(time.idle(), Nanos(0));
  EXPECT_EQ(time.streams, 2);
  EXPECT_NE(time.text.find("busy 100.0 %"), std::string::npos);
  EXPECT_NE(time.text.find("30.0 % of its communication overlapped computation"),
            std::string::npos);
}

TEST(DeviceTime, TimeBetweenTracesIsNotIdle) {
  DeviceRecord record;
  add_kernel(record, 100, 200, 90);
  add_kernel(record, 250, 300, 240);
  add_kernel(record, 9000, 9100, 8900);  // in the next trace
  EXPECT_EQ(find_device_time(record, kAllTime).front().host_wait, Nanos(50 + 8700));
  add_trace(record, 8950, 9200);
  add_trace(record, 50, 280);
  add_trace(record, 270, 310);  // another rank's, at the same time
  const DeviceTime time = find_device_time(record, kAllTime).front();
  EXPECT_EQ(time.host_wait, Nanos(50));
  EXPECT_EQ(time.idle(), Nanos(50));
}

TEST(DeviceTime, TheWindowCutsPhases) {
  DeviceRecord record;
  add_kernel(record, 0, 100, 0);
  add_kernel(record, 200, 300, 0);
  const Window window{.from = utc_time(50), .to = utc_time(250)};
  const DeviceTime time = find_device_time(record, window).front();
  EXPECT_EQ(std::tuple(time.busy, time.other), std::tuple(Nanos(100), Nanos(100)));
  EXPECT_TRUE(find_device_time(record, {.from = utc_time(100), .to = utc_time(200)}).empty());
}

TEST(DeviceTime, OtherLanesAndOpenPhasesAreNoDevices) {
  DeviceRecord record;
  for (const char* lane :
       {"node7/4711/thread 1", "GPU 0/stream 7", "node7/1/stream 7", "", "/stream 1"})
    add_kernel(record, 0, 100, 0, PhaseKind::kCompute, lane);
  record.add({.begin = utc_time(0), .end = {}, .name = "k", .lane = kStream, .attributes = "{}"});
  EXPECT_TRUE(record.devices().empty());
  EXPECT_TRUE(find_device_time(record, kAllTime).empty());
}

TEST(DeviceTime, TimesAtTheLimitsDoNotOverflow) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  DeviceRecord record;
  const auto add = [&](std::int64_t begin, std::int64_t end, const char* attributes) {
    record.add({.begin = utc_time(begin),
                .end = utc_time(end),
                .name = "k",
                .lane = kStream,
                .attributes = attributes});
  };
  add(0, 10, "{\"queued_ns\": 5}");
  add(kMost - 20, kMost - 10, "{\"queued_ns\":-9223372036854775807}");
  add(kMost - 5, kMost, "{\"queued_ns\":99999999999999999999999}");
  add(20, 20, "{\"queued_ns\":");  // no time at all
  const DeviceTime time =
      find_device_time(record, {.from = utc_time(0), .to = utc_time(kMost)}).front();
  EXPECT_EQ(time.busy, Nanos(25));
  EXPECT_EQ(time.idle(), Nanos(kMost - 25));
  EXPECT_FALSE(time.text.empty());
}

}  // namespace
}  // namespace corral::analyze
