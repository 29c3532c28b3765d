#include "analyze/phase_statistics.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "core/text.h"

namespace corral::analyze {
namespace {

using store::page::PhaseSpan;

constexpr std::int64_t kSecond = 1'000'000'000;

UtcTime at(double second) {
  return utc_time(static_cast<std::int64_t>(std::llround(second * kSecond)));
}
PhaseSpan span(std::uint64_t id, std::uint64_t parent, std::string name, double begin,
               std::optional<double> end) {
  return {.session = 1,
          .id = id,
          .parent = parent,
          .start = at(begin),
          .end = end ? std::optional(at(*end)) : std::nullopt,
          .name = std::move(name),
          .lane = "main"};
}
std::vector<std::string> texts(const std::vector<PathStatistics>& all) {
  std::vector<std::string> lines;
  for (const auto& one : all) {
    lines.push_back(fmt::format("{} {} {}: {:g} s", one.lane, join(one.path, "/"), one.count,
                                seconds(one.total)));
  }
  return lines;
}
using Texts = std::vector<std::string>;

TEST(PhaseStatistics, PhasesOfOnePathAreOneLine) {
  const std::vector phases = {span(1, 0, "epoch", 0, 10), span(2, 1, "step", 0, 1),
                              span(3, 1, "step", 2, 4), span(4, 1, "step", 5, 8),
                              span(5, 0, "step", 11, 12)};
  const auto all = phase_statistics(phases, {.from = at(0), .to = at(20)});
  EXPECT_EQ(texts(all),
            (Texts{"main epoch 1: 10 s", "main epoch/step 3: 6 s", "main step 1: 1 s"}));
  EXPECT_DOUBLE_EQ(all[1].mean_s, 2);
  EXPECT_DOUBLE_EQ(all[1].min_s, 1);
  EXPECT_DOUBLE_EQ(all[1].max_s, 3);
  EXPECT_DOUBLE_EQ(all[1].deviation_s.value(), 1);
  EXPECT_FALSE(all[0].deviation_s);
}

TEST(PhaseStatistics, TotalsAreOfTheWindowLengthsOfThePhases) {
  const std::vector phases = {span(1, 0, "epoch", 0, 10), span(2, 1, "step", 2, 5),
                              span(3, 1, "step", 5, 6), span(4, 1, "step", 8, {})};
  const auto all = phase_statistics(phases, {.from = at(4), .to = at(9)});
  EXPECT_EQ(texts(all), (Texts{"main epoch 1: 5 s", "main epoch/step 3: 3 s"}));
  EXPECT_EQ(all[1].open, 1);
  EXPECT_EQ(all[1].ended, 2);
  EXPECT_DOUBLE_EQ(all[1].mean_s, 2) << "3 s and 1 s, the open one has no length yet";
}

TEST(PhaseStatistics, ChildrenMayComeBeforeTheirParentsAndInAnyLane) {
  std::vector phases = {span(3, 2, "wait", 1, 2), span(2, 1, "step", 0, 3),
                        span(1, 0, "epoch", 0, 4), span(9, 77, "lost", 0, 1)};
  phases[0].lane = "loader";
  EXPECT_EQ(texts(phase_statistics(phases, {.from = at(0), .to = at(9)})),
            (Texts{"main epoch 1: 4 s", "main epoch/step 1: 3 s", "loader epoch/step/wait 1: 1 s",
                   "main lost 1: 1 s"}));
  phases[0].session = 2;  // another session has other phases
  EXPECT_EQ(texts(phase_statistics(phases, {.from = at(0), .to = at(9)}))[2], "loader wait 1: 1 s");
}

TEST(PhaseStatistics, RingsAndEndlessDepthAreCut) {
  std::vector<PhaseSpan> phases = {span(1, 2, "a", 0, 1), span(2, 1, "b", 0, 1),
                                   span(3, 3, "c", 0, 1)};
  EXPECT_EQ(phase_statistics(phases, {.from = at(0), .to = at(9)}).size(), 3U);
  phases.clear();
  for (std::uint64_t id = 1; id <= 1000; ++id) phases.push_back(span(id, id - 1, "x", 0, 1));
  for (const bool reversed : {false, true}) {
    if (reversed) std::ranges::reverse(phases);
    std::int64_t count = 0;
    for (const auto& one : phase_statistics(phases, {.from = at(0), .to = at(9)})) {
      EXPECT_LE(one.path.size(), kMostPathNames);
      count += one.count;
    }
    EXPECT_EQ(count, 1000);
  }
}

TEST(PhaseStatistics, OutsideTheWindowNothingCounts) {
  const std::vector phases = {span(1, 0, "a", 0, 1), span(2, 0, "b", 1, 2), span(3, 0, "c", 2, 3),
                              span(4, 0, "instant", 1, 1)};
  EXPECT_EQ(texts(phase_statistics(phases, {.from = at(1), .to = at(2)})),
            (Texts{"main b 1: 1 s", "main instant 1: 0 s"}));
}

}  // namespace
}  // namespace corral::analyze
