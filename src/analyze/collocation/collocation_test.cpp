#include "analyze/collocation/collocation.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace corral::analyze {
namespace {

PlacedRun run_of(std::size_t job, std::optional<double> step_s, double duration_s = 100,
                 const std::string& place = "", const std::string& host = "node7") {
  PlacedRun run;
  run.id = RunId::random();
  run.host = host;
  run.outcome = "finished";
  run.job = job;
  run.place = place;
  run.step_s = step_s;
  run.duration_s = duration_s;
  run.steps = 100;
  return run;
}
MeasuredRuns unit_of(std::vector<PlacedRun> runs, const std::string& sharing = "naive") {
  MeasuredRuns unit;
  unit.workload = "7";
  unit.sharing = sharing;
  unit.runs = std::move(runs);
  return unit;
}

// The golden example of analysis.md: 10 s alone, two copies at 16 s.
TEST(Collocation, OfTwoCopies) {
  MeasuredRuns both = unit_of({run_of(0, 16), run_of(0, 16)});
  both.makespan_s = 160;
  both.watts = 300;
  MeasuredRuns alone = unit_of({run_of(0, 10)});
  alone.watts = 200;
  const Collocation found = compare_places({"train"}, {alone, both});
  ASSERT_EQ(found.cells.size(), 1U);
  const Cell& cell = found.cells[0];
  EXPECT_DOUBLE_EQ(*cell.runs[0].slowdown, 1.6);
  EXPECT_DOUBLE_EQ(*cell.runs[0].interference, 1.6);
  EXPECT_FALSE(cell.runs[0].capacity) << "it had all of it";
  EXPECT_DOUBLE_EQ(*cell.throughput, 1.25);
  EXPECT_DOUBLE_EQ(*cell.turnaround, 1.6);
  EXPECT_DOUBLE_EQ(*cell.fairness, 1);
  EXPECT_DOUBLE_EQ(*cell.speedup, 200.0 / 160);
  // In 16 s two steps: 4800 J, alone 4000 J.
  EXPECT_DOUBLE_EQ(*cell.energy, 1.2);
  EXPECT_TRUE(found.missing.empty());
}

TEST(Collocation, ACellInWhichARunStartedAgainHasNoSpeedUp) {
  MeasuredRuns both = unit_of({run_of(0, 16), run_of(0, 16)});
  both.makespan_s = 160;
  both.rounds_left_out = 2;
  const Collocation found = compare_places({"train"}, {unit_of({run_of(0, 10)}), both});
  EXPECT_FALSE(found.cells.at(0).speedup);
  EXPECT_DOUBLE_EQ(found.cells.at(0).throughput.value_or(0), 1.25);
}

// S 10 -> 12, L 100 -> 150.
TEST(Collocation, OfAMix) {
  const Collocation found =
      compare_places({"S", "L"}, {unit_of({run_of(0, 10)}), unit_of({run_of(1, 100)}),
                                  unit_of({run_of(1, 150), run_of(0, 12)})});
  const Cell& cell = found.cells.at(0);
  EXPECT_NEAR(*cell.throughput, 1.5, 1e-12);
  EXPECT_NEAR(*cell.turnaround, 1.35, 1e-12);
  EXPECT_NEAR(*cell.fairness, 0.8, 1e-12);
  ASSERT_EQ(found.configurations.size(), 1U);
  const Configuration& one = found.configurations[0];
  EXPECT_EQ(one.jobs, (std::vector<std::size_t>{0, 1}));
  ASSERT_EQ(one.disturbances.size(), 2U);
  EXPECT_EQ(one.disturbances[0].beside, std::vector<std::size_t>{1});
  EXPECT_NEAR(one.disturbances[0].slowdown.mean, 1.2, 1e-12);
  EXPECT_NEAR(one.disturbances[1].slowdown.mean, 1.5, 1e-12);
}

TEST(Collocation, SlowdownOfASliceIsItsCapacityLossTimesTheInterference) {
  const std::string slice = "3g.20gb";
  const Collocation found = compare_places(
      {"train"}, {unit_of({run_of(0, 10)}), unit_of({run_of(0, 20, 100, slice)}, "mig"),
                  unit_of({run_of(0, 22, 100, slice), run_of(0, 25, 100, slice)}, "mig")});
  for (const PlacedRun& run : found.cells.at(0).runs) {
    EXPECT_DOUBLE_EQ(*run.capacity, 2);
    EXPECT_DOUBLE_EQ(*run.slowdown, *run.capacity * *run.interference);
  }
  EXPECT_EQ(found.configurations.at(0).places, (std::vector<std::string>{slice, slice}));
}

TEST(Collocation, WhatIsMissingIsNamedAndNotAssumed) {
  const std::string slice = "1g.5gb";
  const Collocation found = compare_places(
      {"S", "L"}, {unit_of({run_of(0, 10)}), unit_of({run_of(1, 100, 100, "", "node8")}),
                   unit_of({run_of(0, 20, 100, slice), run_of(1, 300)}, "mig")});
  const Cell& cell = found.cells.at(0);
  EXPECT_DOUBLE_EQ(*cell.runs[0].slowdown, 2);
  EXPECT_FALSE(cell.runs[0].capacity || cell.runs[0].interference);
  EXPECT_FALSE(cell.runs[1].slowdown) << "another host's is no baseline";
  EXPECT_FALSE(cell.throughput || cell.turnaround || cell.fairness || cell.speedup || cell.energy);
  EXPECT_EQ(found.missing,
            (std::vector<std::string>{"no run of A alone on 1g.5gb of node7",
                                      "no run of B alone on all of node7, only on node8"}));
}

TEST(Collocation, TheSmallestMeasuredSliceOfAJobIsNamed) {
  MeasuredRuns failed = unit_of({run_of(0, std::nullopt, 100, "1g.5gb")}, "mig");
  failed.reason = "it ended as out-of-memory";
  const Collocation found = compare_places(
      {"train", "other"},
      {unit_of({run_of(0, 10)}), unit_of({run_of(0, 30, 100, "2g.10gb")}, "mig"),
       unit_of({run_of(0, 15, 100, "7g.40gb")}, "mig"), unit_of({run_of(0, 20, 100, "mps=50")}),
       failed, unit_of({run_of(1, 30, 100, "1g.10gb")}, "mig"),
       unit_of({run_of(1, 30, 100, "1g.5gb")}, "mig")});
  std::vector<std::string> smallest;
  for (const AloneJob& alone : found.alone) {
    if (alone.smallest_slice) smallest.push_back(job_letters(alone.job) + " " + alone.place);
    if (alone.place == "2g.10gb") {
      EXPECT_DOUBLE_EQ(alone.against_all.value_or(0), 3);
    }
    if (alone.job == 1) {
      EXPECT_FALSE(alone.against_all) << "it never ran on all";
    }
  }
  EXPECT_EQ(smallest, (std::vector<std::string>{"A 2g.10gb", "B 1g.5gb"}));
}

TEST(Collocation, ARunBesideOthersIsNoneAlone) {
  MeasuredRuns beside = unit_of({run_of(0, 10)});
  beside.beside = 1;
  const Collocation found =
      compare_places({"train"}, {beside, unit_of({run_of(0, 16), run_of(0, 16)})});
  EXPECT_TRUE(found.alone.empty());
  EXPECT_EQ(found.missing.size(), 1U);
}

TEST(Collocation, CellsThatFailedStayWithTheirReason) {
  MeasuredRuns failed = unit_of({run_of(0, std::nullopt), run_of(0, std::nullopt)}, "mps");
  failed.reason = "small: it ended as failed";
  failed.runs[0].step_s = 99;
  failed.runs[1].outcome = "out of memory";
  const Collocation found = compare_places(
      {"train"},
      {unit_of({run_of(0, 10)}), failed, unit_of({run_of(0, 12), run_of(0, 12)}, "mps")});
  ASSERT_EQ(found.cells.size(), 2U);
  EXPECT_EQ(found.cells[0].reason, "small: it ended as failed");
  EXPECT_FALSE(found.cells[0].throughput);
  ASSERT_EQ(found.configurations.size(), 1U);
  EXPECT_EQ(found.configurations[0].cells.size(), 2U);
  EXPECT_EQ(found.configurations[0].measured, 1U);
  EXPECT_NEAR(*found.configurations[0].throughput, 2 / 1.2, 1e-12);
}

// Seven copies in each of three cells are three values, not twenty-one.
TEST(Collocation, CopiesAreNoRepetitions) {
  std::vector<MeasuredRuns> all;
  for (const double step : {1.0, 1.02, 0.98}) {
    all.push_back(unit_of({run_of(0, step)}));
    std::vector<PlacedRun> copies;
    for (int i = 0; i < 7; ++i) copies.push_back(run_of(0, 3 * step));
    all.push_back(unit_of(std::move(copies), "mps"));
  }
  const Collocation found = compare_places({"train"}, all);
  const Disturbance& slow = found.configurations.at(0).disturbances.at(0);
  EXPECT_EQ(slow.alone, 3U);
  EXPECT_EQ(slow.together, 3U);
  EXPECT_EQ(slow.beside.size(), 6U);
  EXPECT_NEAR(slow.slowdown.mean, 3, 1e-12);
  EXPECT_LT(slow.slowdown.low, 2.9);
  EXPECT_GT(slow.slowdown.high, 3.1);
}

TEST(Collocation, ACellBesideAnotherRunOfItsWorkloadIsNotMeasured) {
  MeasuredRuns cell = unit_of({run_of(0, 16), run_of(0, 16)});
  cell.beside = 2;
  const Collocation found = compare_places({"train"}, {unit_of({run_of(0, 10)}), cell});
  EXPECT_EQ(found.cells.at(0).reason,
            "2 more runs of its workload, not among these, were beside it");
  EXPECT_FALSE(found.cells[0].throughput);
  EXPECT_EQ(found.configurations.at(0).disturbances.at(0).together, 0U);
}

TEST(Collocation, RunsAloneThatWereNotMeasuredAreKept) {
  MeasuredRuns failed = unit_of({run_of(0, std::nullopt)});
  failed.reason = "it ended as failed";
  const Collocation found = compare_places({"train"}, {failed});
  ASSERT_EQ(found.unmeasured.size(), 1U);
  EXPECT_EQ(found.unmeasured[0].reason, "it ended as failed");
}

// A on one host and B on another: each is compared with itself there.
TEST(Collocation, EachRunIsComparedWithItsOwnHost) {
  const Collocation found =
      compare_places({"A", "B"}, {unit_of({run_of(0, 10)}), unit_of({run_of(1, 10)}),
                                  unit_of({run_of(1, 40, 100, "", "node8")}),
                                  unit_of({run_of(0, 12), run_of(1, 48, 100, "", "node8")})});
  for (const Disturbance& one : found.configurations.at(0).disturbances)
    EXPECT_NEAR(one.slowdown.mean, 1.2, 1e-12);
}

TEST(Collocation, DurationsOfUnequalWorkAreNoSpeedUp) {
  MeasuredRuns cell = unit_of({run_of(0, 16), run_of(0, 16)});
  cell.makespan_s = 100;
  const MeasuredRuns alone = unit_of({run_of(0, 10)});
  EXPECT_TRUE(compare_places({"train"}, {alone, cell}).cells.at(0).speedup);
  cell.runs[1].steps = 60;
  const Collocation found = compare_places({"train"}, {alone, cell});
  EXPECT_FALSE(found.cells.at(0).speedup);
  EXPECT_TRUE(found.cells.at(0).throughput);
}

TEST(Collocation, JobsHaveLetters) {
  EXPECT_EQ(job_letters(0), "A");
  EXPECT_EQ(job_letters(25), "Z");
  EXPECT_EQ(job_letters(26), "AA");
  EXPECT_EQ(job_letters(701), "ZZ");
  EXPECT_EQ(job_letters(702), "AAA");
}

}  // namespace
}  // namespace corral::analyze
