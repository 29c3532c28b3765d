#include "analyze/footprint/split.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace corral::analyze {
namespace {

// `watts` over columns of 10 s.
ColumnSeries of_watts(std::string metric, std::string source, const std::vector<double>& watts) {
  ColumnSeries series{.metric = std::move(metric), .source = std::move(source), .cells = {}};
  for (const double one : watts)
    series.cells.push_back({.integral = one * 10, .covered = 10, .least = 0, .most = 0});
  return series;
}

EnergyPart part_of(const ColumnSeries& series) {
  EnergyPart part;
  part.cells = series.cells;
  part.joules = series.total().integral;
  return part;
}

DeviceUser user(bool mine, std::vector<bool> present, std::vector<std::optional<double>> use,
                double size = 1) {
  return {.mine = mine, .size = size, .present = std::move(present), .use = std::move(use)};
}

TEST(EnergySplit, IsByUseElseEquallyAndOnlyWhileShared) {
  // Alone; both work; neither works; the neighbour's use is not known; the neighbour alone; nobody.
  const std::vector<DeviceUser> users = {
      user(true, {true, true, true, true, false, false}, {0.5, 0.6, 0, 0.9, std::nullopt, {}}),
      user(false, {false, true, true, true, true, false}, {{}, 0.2, 0, std::nullopt, 0.3, {}})};
  const std::vector<double> shares = device_shares(users);
  const std::vector<double> wanted = {1, 0.75, 0.5, 0.5, 0, 1};
  ASSERT_EQ(shares.size(), wanted.size());
  for (std::size_t i = 0; i < wanted.size(); ++i) EXPECT_NEAR(shares[i], wanted[i], 1e-12) << i;
  const ColumnSeries series = of_watts("host.gpu.energy", "gpu0", {100, 100, 100, 100, 100, 0});
  const EnergyPart part = part_of(series);
  const EnergySplit split = split_by(part, shares, "SM use");
  EXPECT_NEAR(split.joules, 2750, 1e-9);
  EXPECT_NEAR(split.share, 0.55, 1e-12);
  EXPECT_EQ(split_by(EnergyPart{}, shares, "SM use").share, 0) << "no energy has no part";
}

TEST(EnergySplit, OfInstancesIsByActivityTimesSlices) {
  const std::vector<DeviceUser> users = {user(true, {true, true}, {0.5 * 3, 0}, 3),
                                         user(false, {true, true}, {0.75 * 2, 0}, 2),
                                         user(false, {true, true}, {0, 0}, 1)};
  const std::vector<double> shares = device_shares(users);
  EXPECT_DOUBLE_EQ(shares[0], 0.5);
  EXPECT_DOUBLE_EQ(shares[1], 0.5) << "3 of 6 slices";
}

TEST(EnergySplit, OfAPackageIsItsDynamicPartByCpuTimeAndItsIdlePartByAllocation) {
  const ColumnSeries package = of_watts("host.energy.package", "package-0", {100, 40, 30});
  const ColumnSeries run = of_watts("run.cpu.used", "", {1, 0, 2});
  const ColumnSeries host = of_watts("host.cpu.busy", "", {4, 0, 1});
  const EnergyPart part = part_of(package);
  const EnergySplit split =
      split_by_cpu_time(part, {.run = &run, .host = &host, .allocated = {0.5, 0.5, 0.25}}, 40);
  // 600 J x 1/4 + 400 J x 1/2; 400 J x 1/2; all of 300 J is idle, x 1/4.
  EXPECT_NEAR(split.joules, 350 + 200 + 75, 1e-9);
  EXPECT_EQ(split.idle_w, 40);
}

}  // namespace
}  // namespace corral::analyze
