// The driver's own samples: each once, in order, at the driver's time.
#include "collect/nvidia/sample_rings.h"

#include <gtest/gtest.h>

#include <array>

#include "collect/nvidia/fake/fake_driver.h"
#include "collect/row_ring.h"
#include "core/test_paths.h"

namespace corral::collect::nvidia {
namespace {

constexpr const char* kPower = "host.gpu.power.samples/gpu0";

// Power of 100 W and a watt more each second, sampled every 20 ms; 120 samples are kept.
std::string power_ring(const std::string& more = "") {
  return "gpus 1\ngpu0.busy 1\ngpu0.memory_busy 1\ngpu0.ring.0 100000+1000\n" + more;
}

struct Point {
  double at;  // on the timeline, s
  double value;
};
using Drained = std::map<std::string, std::vector<Point>>;

// The result of a drain at that time, after a check that no column goes back in time.
class Drains {
 public:
  explicit Drains(const std::string& timeline, const std::string& library = fake_nvml())
      : driver(timeline, library), gpu(driver) {}

  Drained at(double s) {
    driver.set_time(s);
    std::vector<double> values(gpu.table.series(kSlowGroup).size());
    std::vector<std::uint8_t> present(values.size());
    Row row(values, present, &timed_);
    gpu.listener->sample_slow(row);
    Drained drained;
    timed_.drain([&](const TimedPoint& point) {
      const SeriesInfo& series = gpu.table.series(kTimedGroup)[point.column];
      const std::string name = std::string(series.metric->name) + "/" + series.source;
      EXPECT_GT(point.time, last_[name]) << name << " at " << s;
      EXPECT_LE(point.time, driver.clock.now()) << name << " at " << s;
      last_[name] = point.time;
      drained[name].push_back({seconds(point.time - kBegan), point.value});
    });
    return drained;
  }

  std::vector<Point> power_at(double s) { return at(s)[kPower]; }

  FakeDriver driver;
  Opened gpu;

 private:
  static constexpr BootTime kBegan = boot_time(1'000'000'000);
  TimedPoints timed_{16384};
  std::map<std::string, BootTime> last_;
};

TEST(SampleRings, GiveEachSampleOnceAtItsOwnTime) {
  Drains drains(power_ring());
  std::size_t given = 0;
  for (const double s : {0.5, 0.505, 1.01, 2.0, 2.001, 3.0}) {
    for (const Point& point : drains.power_at(s)) {
      ++given;
      EXPECT_NEAR(point.at, 0.02 * static_cast<double>(given), 1e-6);
      EXPECT_NEAR(point.value, 100 + point.at, 2e-3);
    }
    EXPECT_EQ(given, static_cast<std::size_t>(s / 0.02 + 1e-6)) << s;
  }
  EXPECT_TRUE(drains.gpu.told().empty()) << "nothing new is no trouble";
  EXPECT_EQ(drains.driver.calls("nvmlDeviceGetSamples"), 5 + 6U) << "one call for each drain";
}

TEST(SampleRings, HaveAllThatTheDriverSamplesInSiUnits) {
  Drains drains(timeline("one"));
  drains.at(10);
  Drained last = drains.at(11);
  EXPECT_EQ(last.size(), 5U);
  EXPECT_DOUBLE_EQ(last.at(kPower).front().value, 650);
  EXPECT_EQ(last.at("host.gpu.busy.samples/gpu0").size(), 6U) << "each ring at its own pace";
  EXPECT_DOUBLE_EQ(last.at("host.gpu.busy.samples/gpu0").front().value, 0.97);
  EXPECT_DOUBLE_EQ(last.at("host.gpu.memory.busy.samples/gpu0").front().value, 0.41);
  EXPECT_DOUBLE_EQ(last.at("host.gpu.clock.sm.samples/gpu0").front().value, 1980e6);
  EXPECT_DOUBLE_EQ(last.at("host.gpu.clock.memory.samples/gpu0").front().value, 3201e6);
}

TEST(SampleRings, HonourTheTypeOfTheValues) {
  for (const int type : {0, 1, 3}) {
    Drains drains(power_ring("gpu0.ring.0.type " + std::to_string(type) + "\n"));
    EXPECT_NEAR(drains.at(1).at(kPower).back().value, 101, 1e-3) << type;
  }
  EXPECT_TRUE(Drains(power_ring("gpu0.ring.0.type 77\n")).at(1).empty());
}

TEST(SampleRings, ThatTheDriverRefusesAreNotAvailable) {
  Drains drains(
      "gpus 1\ngpu0.busy 1\ngpu0.memory_busy 1\ngpu0.ring.0 NO_PERMISSION\n"
      "gpu0.ring.6 NOT_FOUND\nat 5 gpu0.ring.6 3201\n");
  EXPECT_EQ(drains.gpu.missing("host.gpu.power.samples of gpu0"), "Insufficient Permissions");
  EXPECT_EQ(drains.gpu.missing("host.gpu.busy.samples of gpu0"), "Not Supported");
  EXPECT_TRUE(drains.at(1).empty());
  EXPECT_FALSE(drains.at(6).empty()) << "nothing sampled yet is no refusal";
  const auto& lacking = vendor::library_without("nvmlDeviceGetSamples", fake_nvml());
  const Drains old(power_ring(), lacking);
  EXPECT_EQ(old.gpu.missing("host.gpu.power.samples of gpu0"), "this driver has no such function");
}

TEST(SampleRings, ThatFailForAWhileAreToldOnceAndGoOn) {
  Drains drains(power_ring("at 5 gpu0.ring.0 TIMEOUT\nat 7 gpu0.ring.0 200000\n"));
  drains.at(4.9);
  EXPECT_TRUE(drains.at(5.5).empty());
  EXPECT_TRUE(drains.at(6.5).empty());
  EXPECT_TRUE(just(drains.gpu.told(), "gpu0: no values of samples for now"));
  EXPECT_DOUBLE_EQ(drains.power_at(8).back().value, 200);
}

TEST(SampleRings, LargerThanTheRoomComeInSeveralCalls) {
  Drains drains(power_ring("gpu0.ring.0.period 0.0001\ngpu0.ring.0.room 20000\n"));
  const auto before = drains.driver.calls("nvmlDeviceGetSamples");
  EXPECT_EQ(drains.power_at(1).size(), 10'000U);
  EXPECT_EQ(drains.driver.calls("nvmlDeviceGetSamples"), before + 3);
  EXPECT_EQ(drains.power_at(1.5).size(), 5000U);
}

TEST(SampleRings, OfADriverThatGivesAllOrNothingAreLostWhereThereAreTooMany) {
  Drains drains(
      power_ring("gpu0.ring.0.period 0.001\ngpu0.ring.0.room 20000\n"
                 "call.nvmlDeviceGetSamples.strict 1\n"));
  EXPECT_EQ(drains.power_at(1).size(), 1000U);
  EXPECT_TRUE(drains.at(6).empty());
  EXPECT_TRUE(just(drains.gpu.told(), "gpu0: no values of samples for now"));
  EXPECT_EQ(drains.power_at(7).size(), 1000U);
}

// drains.at() sees to it that no time goes back or lies ahead.
TEST(SampleRings, LeaveOutWhatIsAmbiguousWhenTheWallClockIsPut) {
  for (const double step : {-5.0, -3600.0, 5.0, 3600.0}) {
    Drains drains(power_ring("gpu0.ring.0.room 2000\nat 10.5 utc " + std::to_string(step) + "\n"));
    std::vector<double> without;
    for (int s = 1; s <= 50; ++s) {
      const std::vector<Point> points = drains.power_at(s);
      if (points.empty()) without.push_back(s);
      for (const Point& point : points) EXPECT_NEAR(point.value, 100 + point.at, 2e-3) << step;
    }
    const std::size_t lost = step > 0 ? 1 : step > -30 ? 6 : 31;
    EXPECT_EQ(without.size(), lost) << step;
    EXPECT_EQ(without.front(), 11) << step;
  }
}

TEST(SampleRings, FollowAClockThatRunsALittleFast) {
  Drains drains(power_ring("at 10 utc 0.0001\nat 20 utc 0.0002\nat 30 utc 0.0001\n"));
  std::size_t given = 0;
  for (int s = 1; s <= 40; ++s) given += drains.power_at(s).size();
  EXPECT_EQ(given, 2000U);
}

// A step that is too small to be told from a clock that is being put right; drains.at() sees to the
// order.
TEST(SampleRings, KeepTheirOrderWhenTheClockIsPutALittle) {
  for (const double step : {0.08, -0.08}) {
    Drains drains(power_ring("at 10.5 utc " + std::to_string(step) + "\n"));
    std::size_t given = 0;
    for (int s = 1; s <= 20; ++s) {
      for (const Point& point : drains.power_at(s)) {
        ++given;
        EXPECT_NEAR(point.value, 100 + point.at, 0.05) << step;
      }
    }
    EXPECT_GE(given, 1000U - 5) << step;
  }
}

TEST(SampleRings, AfterAPauseGiveTheLatestOnly) {
  Drains drains(power_ring("gpu0.ring.0.room 10000\n"));
  drains.at(1);
  EXPECT_EQ(drains.power_at(11).size(), 500U) << "a slow listener's pace";
  EXPECT_EQ(drains.power_at(60).size(), 50U) << "others had the device";
}

TEST(SampleRings, OfADeviceInMigModeHaveNoUtilization) {
  Drains drains(timeline("mig"));
  EXPECT_TRUE(holds(drains.gpu.missing("host.gpu.busy.samples of gpu0"), "in MIG mode"));
  EXPECT_DOUBLE_EQ(drains.at(1).at(kPower).back().value, 300);
}

}  // namespace
}  // namespace corral::collect::nvidia
