#include "analyze/footprint/energy.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace corral::analyze {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

Window first_seconds(std::int64_t length_s) {
  return {.from = utc_time(0), .to = utc_time(length_s * kSecond)};
}

// `watts` over each column of `width_s`.
ColumnSeries by_column(std::string metric, std::string source, const std::vector<double>& watts,
                       double width_s) {
  ColumnSeries series{.metric = std::move(metric), .source = std::move(source), .cells = {}};
  for (const double one : watts) {
    query::IntegralCell cell;
    if (std::isfinite(one))
      cell = {.integral = one * width_s, .covered = width_s, .least = 0, .most = 0};
    series.cells.push_back(cell);
  }
  return series;
}

constexpr double kUnread = std::numeric_limits<double>::quiet_NaN();

TEST(Energy, PrefersTheCounterAndShowsPowerBesideIt) {
  const std::vector<ColumnSeries> series = {
      by_column("host.gpu.power", "gpu0", {110, 110, kUnread, 110}, 10),
      by_column("host.gpu.energy", "gpu0", {100, 100, 100, 100}, 10),
      by_column("host.gpu.power", "gpu1", {50, 50, 50, 50}, 10),
      by_column("host.energy.package", "package-0", {60, 60, 60, 60}, 10),
      by_column("host.energy.cores", "package-0", {40, 40, 40, 40}, 10),
      by_column("host.power.sensor", "power_meter.power1", {300, 300, 300, 300}, 10),
      by_column("host.power.sensor", "amdgpu.PPT", {20, 20, 20, 20}, 10),
      by_column("host.energy.dram", "package-0", {kUnread, kUnread, kUnread, kUnread}, 10)};
  const auto parts = measure_energy(series, first_seconds(40));
  ASSERT_EQ(parts.size(), 4U) << "cores are part of the package; an unread sensor is none";
  EXPECT_EQ(parts[0].source, "gpu0");
  EXPECT_EQ(parts[0].method, EnergyMethod::kCounter);
  EXPECT_DOUBLE_EQ(parts[0].joules, 4000);
  ASSERT_TRUE(parts[0].other);
  EXPECT_DOUBLE_EQ(parts[0].other->joules, 3300) << "over the time that both cover";
  EXPECT_NEAR(parts[0].other->difference, 0.1, 1e-12);
  EXPECT_EQ(parts[1].method, EnergyMethod::kPower);
  EXPECT_DOUBLE_EQ(parts[1].joules, 2000);
  EXPECT_FALSE(parts[1].other);
  EXPECT_EQ(parts[2].component, Component::kCpu);
  EXPECT_DOUBLE_EQ(parts[2].joules, 2400);
  EXPECT_EQ(parts[3].component, Component::kPlatform);
  EXPECT_DOUBLE_EQ(parts[3].joules, 12000);
}

TEST(Energy, GapsAreNamedWithTheTimeThatIsMissing) {
  std::vector<double> watts(100, 10.0);
  for (const std::size_t i : {20, 21, 22, 60}) watts[i] = kUnread;
  ColumnSeries series = by_column("host.energy.package", "package-0", watts, 10);
  series.cells[80].covered = 9.5;  // half a second: too short for a gap
  series.cells[80].integral = 95;
  const auto parts = measure_energy({{series}}, first_seconds(1000));
  ASSERT_EQ(parts.size(), 1U);
  EXPECT_NEAR(parts[0].coverage, 0.9595, 1e-12);
  EXPECT_DOUBLE_EQ(parts[0].joules, 9595);
  ASSERT_EQ(parts[0].gaps.size(), 2U);
  EXPECT_EQ(parts[0].gaps[0].window.from, utc_time(200 * kSecond));
  EXPECT_EQ(parts[0].gaps[0].window.to, utc_time(230 * kSecond));
  EXPECT_DOUBLE_EQ(parts[0].gaps[0].missing_s, 30);
  EXPECT_DOUBLE_EQ(parts[0].gaps[1].missing_s, 10);
}

TEST(Energy, NoInputMakesANumberThatIsNone) {
  constexpr auto kMost = std::numeric_limits<std::int64_t>::max();
  constexpr auto kLeast = std::numeric_limits<std::int64_t>::min();
  const Window all{.from = utc_time(kLeast), .to = utc_time(kMost)};
  const ColumnSeries some = by_column("host.energy.package", "package-0", {1, kUnread, 0}, 10);
  const auto parts = measure_energy({{some}}, all);
  ASSERT_EQ(parts.size(), 1U);
  EXPECT_TRUE(std::isfinite(parts[0].coverage));
  EXPECT_GT(parts[0].gaps.at(0).missing_s, 1e10);
  ColumnSeries huge = some;
  huge.cells[0].integral = std::numeric_limits<double>::infinity();
  EXPECT_TRUE(measure_energy({{huge}}, first_seconds(30)).empty());
  EXPECT_TRUE(measure_energy({{some}}, {.from = utc_time(5), .to = utc_time(5)})[0].gaps.empty());
}

}  // namespace
}  // namespace corral::analyze
