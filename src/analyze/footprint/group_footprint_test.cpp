#include "analyze/footprint/group_footprint.h"

#include <gtest/gtest.h>

#include <numeric>
#include <string>
#include <vector>

namespace corral::analyze {
namespace {

Window window_of(double from, double to) {
  return {.from = utc_time(static_cast<std::int64_t>(from * 1e9)),
          .to = utc_time(static_cast<std::int64_t>(to * 1e9))};
}

// A run with one package at `watts` all the time.
GroupedRun run_at(double from, double to, double watts, std::string host = "node") {
  GroupedRun run{.host = std::move(host), .footprint = {}};
  Footprint& found = run.footprint;
  found.window = window_of(from, to);
  found.coverage = 1;
  EnergyPart part{.component = Component::kCpu, .source = "package-0"};
  const double width = (to - from) / kEnergyColumns;
  part.cells.assign(kEnergyColumns, {.integral = watts * width, .covered = width});
  part.joules = watts * (to - from);
  found.joules = part.joules;
  found.parts.push_back(std::move(part));
  return run;
}

TEST(EqualParts, AreTheMeanOfOneOverWhoIsThere) {
  const std::vector<Window> windows = {window_of(0, 10), window_of(5, 20), window_of(8, 9)};
  const std::vector<double> first = equal_parts(windows, 0, 2);
  ASSERT_EQ(first.size(), 2U);
  EXPECT_NEAR(first[0], 1, 1e-12);
  EXPECT_NEAR(first[1], (4 * 0.5 + 1.0 / 3) / 5, 1e-12);
  for (const double part : equal_parts(windows, 2, 3)) EXPECT_NEAR(part, 1.0 / 3, 1e-12);
  const std::vector<Window> lone = {window_of(0, 10), window_of(10, 20)};
  EXPECT_EQ(equal_parts(lone, 1, 2), (std::vector{1.0, 1.0})) << "they only touch";
  const std::vector<Window> none = {window_of(3, 3), window_of(0, 10)};
  EXPECT_EQ(equal_parts(none, 0, 1), std::vector{1.0});
}

TEST(GroupFootprint, ASharedSensorCountsOnce) {
  const std::vector<GroupedRun> runs = {run_at(0, 1000, 100), run_at(500, 1500, 100),
                                        run_at(2000, 2100, 100), run_at(0, 1000, 100, "other")};
  const GroupFootprint found = add_footprints(runs);
  EXPECT_NEAR(found.all.joules, 150'000 + 10'000 + 100'000, 1e-6);
  EXPECT_NEAR(*found.joules[0], 75'000, 1e-6);
  EXPECT_NEAR(*found.joules[1], 75'000, 1e-6);
  EXPECT_NEAR(*found.joules[2], 10'000, 1e-6);
  EXPECT_TRUE(found.modelled);
  EXPECT_EQ(found.divided, (std::vector<std::string>{"package-0 of node"}));
  EXPECT_DOUBLE_EQ(found.coverage, 1);
  EXPECT_DOUBLE_EQ(found.all.seconds, 3100);
}

TEST(GroupFootprint, SplitPartsAreAddedAsTheyAre) {
  std::vector<GroupedRun> runs = {run_at(0, 1000, 100), run_at(0, 1000, 100)};
  runs[0].footprint.parts[0].split = EnergySplit{.joules = 70'000, .share = 0.7, .by = "CPU time"};
  runs[1].footprint.parts[0].split = EnergySplit{.joules = 20'000, .share = 0.2, .by = "CPU time"};
  GroupFootprint found = add_footprints(runs);
  EXPECT_DOUBLE_EQ(found.all.joules, 90'000) << "another run beside them had the rest";
  EXPECT_TRUE(found.modelled);
  EXPECT_TRUE(found.divided.empty());
  runs[1].footprint.parts[0].split.reset();
  found = add_footprints(runs);
  EXPECT_NEAR(found.all.joules, 100'000, 1e-6) << "one of them has the whole, so it is divided";
  EXPECT_NEAR(*found.joules[0], 50'000, 1e-6);
  runs.pop_back();
  EXPECT_DOUBLE_EQ(add_footprints(runs).all.joules, 70'000) << "shared with a run of no group";
}

TEST(GroupFootprint, ThePlatformIsNotAdded) {
  std::vector<GroupedRun> runs = {run_at(0, 1000, 100)};
  runs[0].footprint.parts.push_back(
      {.component = Component::kPlatform, .source = "psys", .joules = 1e6});
  EXPECT_DOUBLE_EQ(add_footprints(runs).all.joules, 100'000);
}

TEST(GroupFootprint, FailedRunsAreCountedAndApart) {
  std::vector<GroupedRun> runs = {run_at(0, 100, 36), run_at(100, 150, 36), run_at(150, 200, 36),
                                  run_at(200, 210, 36)};
  runs[1].lost = true;
  runs[2].footprint = {};
  runs[2].footprint.window = window_of(150, 200);
  runs[3].footprint.coverage = 0.45;
  for (const std::size_t i : {0U, 1U}) {
    runs[i].footprint.prices.pue = 1.5;
    runs[i].footprint.prices.intensity_g_per_kwh = 400;
  }
  const GroupFootprint found = add_footprints(runs);
  EXPECT_EQ(found.all.runs, 4U);
  EXPECT_EQ(found.all.measured, 3U);
  EXPECT_EQ(found.all.with_grams, 2U);
  EXPECT_DOUBLE_EQ(found.all.joules, 5760);
  EXPECT_NEAR(found.all.kwh, (5400 * 1.5 + 360) / 3.6e6, 1e-15);
  EXPECT_NEAR(found.all.grams, 5400 * 1.5 / 3.6e6 * 400, 1e-12);
  EXPECT_EQ(found.lost.runs, 1U);
  EXPECT_DOUBLE_EQ(found.lost.joules, 1800);
  EXPECT_NEAR(found.lost.grams, 1800 * 1.5 / 3.6e6 * 400, 1e-12);
  EXPECT_FALSE(found.joules[2]);
  EXPECT_FALSE(found.modelled);
  EXPECT_NEAR(found.coverage, (100 + 50 + 10 * 0.45) / 160, 1e-12);
}

TEST(GroupFootprint, AnHourOfAMachineIsPaidOnce) {
  std::vector<GroupedRun> runs = {run_at(0, 3600, 1000), run_at(0, 3600, 1000),
                                  run_at(0, 3600, 1000, "other"), run_at(0, 3600, 1000, "third")};
  for (GroupedRun& run : runs) {
    run.footprint.prices.currency = "EUR";
    run.footprint.prices.price_per_hour = 2;
  }
  runs[2].footprint.prices.price_per_kwh = 0.5;
  runs[3].footprint.prices.price_per_hour.reset();
  runs[3].footprint.prices.price_per_kwh = 1;
  runs[3].footprint.prices.currency = "DKK";
  const GroupFootprint found = add_footprints(runs);
  ASSERT_EQ(found.all.costs.size(), 2U);
  EXPECT_EQ(found.all.costs[0].currency, "EUR");
  EXPECT_NEAR(found.all.costs[0].time.value_or(0), 4, 1e-12);
  EXPECT_NEAR(found.all.costs[0].energy.value_or(0), 0.5, 1e-12);
  EXPECT_NEAR(found.all.costs[1].energy.value_or(0), 1, 1e-12);
  EXPECT_FALSE(found.all.costs[1].time) << "it has no price per hour";
  EXPECT_EQ(found.all.with_cost, 4U);
}

TEST(GroupFootprint, NothingAddsUpToNothing) {
  const GroupFootprint found = add_footprints({});
  EXPECT_EQ(found.all.runs, 0U);
  EXPECT_DOUBLE_EQ(found.all.joules, 0);
  EXPECT_DOUBLE_EQ(found.coverage, 0);
}

}  // namespace
}  // namespace corral::analyze
