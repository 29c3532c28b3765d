#include "query/series/resample.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>

#include "query/series/point_stream.h"
#include "query/series/test_full_data.h"

namespace corral::query {
namespace {

using testing::Sample;
using testing::Samples;
using testing::Scenario;
using testing::ScenarioData;

constexpr SeriesId kSeries{1};

Scenario any_scenario() {
  Scenario s;
  s.seed = *rc::gen::arbitrary<std::uint64_t>();
  s.blocks = *rc::gen::element(0, 1, 2, 3, 3, 9);
  s.chunks = *rc::gen::inRange(0, 4);
  s.sessions = *rc::gen::inRange(1, 4);
  s.overlap = *rc::gen::arbitrary<bool>();
  s.not_finite = *rc::gen::arbitrary<bool>();
  s.steps = *rc::gen::arbitrary<bool>();
  s.ties = *rc::gen::arbitrary<bool>();
  return s;
}

// A window around and inside of the data.
AxisGrid any_grid(const ScenarioData& data, bool steps) {
  auto [low, high] =
      data.all.empty() ? std::pair<std::int64_t, std::int64_t>{0, 1000} : data.extent(steps);
  const std::int64_t length = high - low + 1;
  const std::int64_t from = low + length * *rc::gen::inRange(-10, 90) / 100;
  const std::int64_t to = from + 1 + length * *rc::gen::inRange(1, 120) / 100;
  return {.axis = steps ? GridAxis::kStep : GridAxis::kTime,
          .from = from,
          .to = to,
          .columns = static_cast<std::uint32_t>(*rc::gen::element(1, 2, 7, 40, 300))};
}

std::optional<std::size_t> column_of(const AxisGrid& grid, std::int64_t x) {
  if (x < grid.from || x >= grid.to) return std::nullopt;
  __extension__ using Wide = __int128;
  return static_cast<std::size_t>(static_cast<Wide>(x - grid.from) * grid.columns /
                                  (grid.to - grid.from));
}

// ---- the oracle: point by point
std::vector<Cell> naive(const Samples& all, const AxisGrid& grid, std::int64_t origin = 0) {
  std::vector<Cell> cells(grid.columns);
  Samples ordered = all;
  const bool steps = grid.axis == GridAxis::kStep;
  if (steps) std::erase_if(ordered, [](const Sample& s) { return !s.step; });
  std::ranges::stable_sort(ordered, {}, [&](const Sample& s) { return steps ? *s.step : s.time; });
  for (const Sample& s : ordered) {
    const auto column = column_of(grid, steps ? *s.step : s.time - origin);
    if (!column) continue;
    Cell& cell = cells[*column];
    if (!std::isfinite(s.value)) {
      ++cell.not_finite;
      continue;
    }
    if (cell.count++ == 0) cell.min = cell.max = cell.first = s.value;
    cell.sum += s.value;
    cell.min = std::min(cell.min, s.value);
    cell.max = std::max(cell.max, s.value);
    cell.last = s.value;
  }
  return cells;
}

void expect_cells(const std::vector<Cell>& got, const std::vector<Cell>& want, bool ends) {
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    RC_ASSERT(got[i].count == want[i].count);
    RC_ASSERT(got[i].not_finite == want[i].not_finite);
    RC_ASSERT(got[i].min == want[i].min);
    RC_ASSERT(got[i].max == want[i].max);
    RC_ASSERT(std::abs(got[i].sum - want[i].sum) <= 1e-7 * (1 + std::abs(want[i].sum)));
    if (!ends) continue;
    RC_ASSERT(got[i].first == want[i].first);
    RC_ASSERT(got[i].last == want[i].last);
  }
}

ResampledSeries resampled(ScenarioData& data, const AxisGrid& grid, Exactness exactness,
                          bool ends = true, store::Channel channel = store::Channel::kValue) {
  const auto answer = resample(data.view, {.series = {{.series = kSeries, .channel = channel}},
                                           .grid = grid,
                                           .exactness = exactness,
                                           .ends = ends});
  EXPECT_TRUE(answer) << answer.error().message;
  return answer ? answer->at(0) : ResampledSeries{};
}

RC_GTEST_PROP(AxisCells, CellsAreThoseOfTheFormula, ()) {
  const auto from = *rc::gen::arbitrary<std::int32_t>();
  const AxisGrid grid{.from = from,
                      .to = from + *rc::gen::inRange<std::int64_t>(1, 5000),
                      .columns = *rc::gen::inRange<std::uint32_t>(1, 3000)};
  const AxisCells cells = AxisCells::uniform(grid, 0);
  for (std::int64_t x = grid.from; x < grid.to; ++x) {
    const std::size_t want = *column_of(grid, x);
    RC_ASSERT(cells.find(x, 0) == want);
    RC_ASSERT(cells.find(x, want) == want);
  }
}

TEST(AxisCells, TheWholeOfInt64) {
  constexpr auto kLeast = std::numeric_limits<std::int64_t>::min();
  constexpr auto kMost = std::numeric_limits<std::int64_t>::max();
  const AxisCells cells = AxisCells::uniform({.from = kLeast, .to = kMost, .columns = 2}, 0);
  EXPECT_EQ(cells.find(kLeast, 0), 0U);
  EXPECT_EQ(cells.find(1, 0), 1U);
  EXPECT_FALSE(cells.contains(kMost));
  const AxisCells shifted = AxisCells::uniform({.from = 0, .to = kMost, .columns = 2}, kMost - 5);
  EXPECT_EQ(shifted.end(), kMost);
}

RC_GTEST_PROP(Resample, ExactIsPointByPoint, ()) {
  const Scenario scenario = any_scenario();
  ScenarioData data(scenario);
  const bool steps = scenario.steps && *rc::gen::arbitrary<bool>();
  const AxisGrid grid = any_grid(data, steps);
  const bool ends = *rc::gen::arbitrary<bool>();
  const ResampledSeries got = resampled(data, grid, Exactness::kExact, ends);
  RC_ASSERT(got.exact);
  expect_cells(got.cells, naive(data.all, grid), ends);
}

RC_GTEST_PROP(Resample, AlignedLosesNothing, ()) {
  const Scenario scenario = any_scenario();
  ScenarioData data(scenario);
  const bool steps = scenario.steps && *rc::gen::arbitrary<bool>();
  const AxisGrid grid = any_grid(data, steps);
  const ResampledSeries got = resampled(data, grid, Exactness::kAligned);
  const std::vector<Cell> want = naive(data.all, grid);
  Cell all_got;
  Cell all_want;
  for (const auto& [cells, all] : {std::pair(&got.cells, &all_got), std::pair(&want, &all_want)}) {
    for (const Cell& cell : *cells) {
      all->count += cell.count;
      all->not_finite += cell.not_finite;
      all->sum += cell.sum;
      all->min = std::min(all->min, cell.min);
      all->max = std::max(all->max, cell.max);
    }
  }
  RC_ASSERT(all_got.count == all_want.count);
  RC_ASSERT(all_got.not_finite == all_want.not_finite);
  RC_ASSERT(all_got.min == all_want.min);
  RC_ASSERT(all_got.max == all_want.max);
  RC_ASSERT(std::abs(all_got.sum - all_want.sum) <= 1e-6 * (1 + std::abs(all_want.sum)));
  RC_ASSERT(got.from_buckets + got.from_points == all_got.count + all_got.not_finite);
}

RC_GTEST_PROP(Resample, RatesAreThoseOfConsecutivePointsOfASession, ()) {
  Scenario scenario = any_scenario();
  scenario.counter = true;
  ScenarioData data(scenario);
  std::map<std::int64_t, codec::CounterRates> sessions;
  Samples rates = data.all;
  for (Sample& s : rates) s.value = sessions[s.session].next(s.time, s.value);
  const AxisGrid grid = any_grid(data, false);
  expect_cells(resampled(data, grid, Exactness::kExact, true, store::Channel::kRate).cells,
               naive(rates, grid), true);
}

TEST(Resample, RelativeTimeTakesEachSeriesFromItsOrigin) {
  ScenarioData data({.seed = 3});
  const std::int64_t origin = data.all[100].time;
  const AxisGrid grid{.from = 0, .to = 1'000'000'000, .columns = 10};
  const auto got =
      resample(data.view, {.series = {{.series = kSeries, .origin = origin}}, .grid = grid});
  ASSERT_TRUE(got);
  const auto want = naive(data.all, grid, origin);
  for (std::size_t i = 0; i < want.size(); ++i) {
    EXPECT_EQ(got->at(0).cells[i].count, want[i].count);
    EXPECT_EQ(got->at(0).cells[i].first, want[i].first);
  }
}

TEST(Resample, AlignedReadsFewPoints) {
  ScenarioData data({.seed = 4, .blocks = 40});
  const auto [low, high] = data.extent(false);
  const auto got =
      resampled(data, {.from = low, .to = high + 1, .columns = 20}, Exactness::kAligned);
  EXPECT_GT(got.from_buckets, 300'000U);
  EXPECT_LT(got.from_points, 2'000U);
  EXPECT_LT(data.view.blocks_read, 5U);
}

TEST(Resample, AlignedLeavesNoHoleWhereBucketsAreWiderThanColumns) {
  ScenarioData data({.seed = 4, .blocks = 3});
  const auto [low, high] = data.extent(false);
  const AxisGrid grid{.from = low, .to = high + 1, .columns = 1500};
  const auto got = resampled(data, grid, Exactness::kAligned);
  const auto want = naive(data.all, grid);
  for (std::size_t i = 0; i < want.size(); ++i)
    EXPECT_EQ(got.cells[i].count > 0, want[i].count > 0) << i;
}

TEST(Resample, DamageIsAGapThatIsCounted) {
  ScenarioData data({.seed = 5, .blocks = 3, .chunks = 0});
  data.view.damage_block(kSeries, 1);
  for (const int tier : {0, 1, 2}) data.view.lose_rows(kSeries, tier);  // every point is read
  data.view.lose_time(kSeries, {.t0 = 0, .t1 = 5});
  const auto [low, high] = data.extent(false);
  const auto got = resampled(data, {.from = low, .to = high + 1, .columns = 1}, Exactness::kExact);
  EXPECT_EQ(got.cells[0].count, 2 * testing::kPartPoints);
  EXPECT_EQ(got.lost, (Lost{.points = testing::kPartPoints, .spans = false}));
  data.view.lose_time(kSeries, {.t0 = low - 5, .t1 = low});
  EXPECT_TRUE(
      resampled(data, {.from = low, .to = high, .columns = 1}, Exactness::kExact).lost.spans);
}

TEST(Resample, UnknownSeriesAreEmptyAndBadGridsRefused) {
  ScenarioData data({.blocks = 1, .chunks = 0});
  const auto answer = resample(
      data.view, {.series = {{.series = SeriesId{7}}}, .grid = {.from = 0, .to = 9, .columns = 3}});
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->at(0).cells, std::vector<Cell>(3));
  for (const AxisGrid grid :
       {AxisGrid{.from = 5, .to = 5, .columns = 1}, AxisGrid{.from = 0, .to = 5, .columns = 0},
        AxisGrid{.from = 0, .to = 5, .columns = kMaxGridColumns + 1}}) {
    const auto refused = resample(data.view, {.series = {}, .grid = grid});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, Code::kInvalidArgument);
  }
}

RC_GTEST_PROP(PointStream, GivesEveryPointInOrderOfTime, ()) {
  const Scenario scenario = any_scenario();
  ScenarioData data(scenario);
  const int tiers = *rc::gen::element(0, 0, 3);
  for (int tier = 0; tier < tiers; ++tier) data.view.lose_rows(kSeries, tier);
  const AxisGrid range = any_grid(data, false);
  Cursor cursor(data.view, kSeries, store::Channel::kValue);
  auto stream = PointStream::open(cursor, range.from, range.to, {.times = true, .steps = true});
  RC_ASSERT(stream.has_value());
  Samples want = data.by_time();
  std::erase_if(want, [&](const Sample& s) { return s.time < range.from || s.time >= range.to; });
  std::size_t at = 0;
  while (true) {
    const auto span = stream->next();
    RC_ASSERT(span.has_value());
    if (span->values.empty()) break;
    for (std::size_t i = 0; i < span->size(); ++i, ++at) {
      RC_ASSERT(at < want.size());
      RC_ASSERT(span->times[i] == want[at].time);
      RC_ASSERT(span->session == want[at].session);
      RC_ASSERT(span->values[i] == want[at].value || std::isnan(want[at].value));
      RC_ASSERT(span->steps.empty() != want[at].step.has_value());
      if (want[at].step) RC_ASSERT(span->steps[i] == *want[at].step);
    }
  }
  RC_ASSERT(at == want.size());
}

TEST(Resample, BordersMayBeGiven) {
  Scenario scenario;
  scenario.seed = 3;
  ScenarioData data(scenario);
  const auto [low, high] = data.extent(false);
  const std::int64_t middle = low + (high - low) / 3;
  const auto columns = [&](std::vector<std::int64_t> borders) {
    return resample(data.view, {.series = {{.series = kSeries}},
                                .grid = {},
                                .ends = false,
                                .borders = std::move(borders)});
  };
  const auto two = columns({low, middle, high + 1});
  ASSERT_EQ(two->front().cells.size(), 2U);
  std::uint64_t before = 0;
  for (const Sample& sample : data.all) before += sample.time < middle ? 1 : 0;
  EXPECT_EQ(two->front().cells[0].count, before);
  EXPECT_EQ(two->front().cells[1].count, data.all.size() - before);
  EXPECT_EQ(columns({5}).error().code, Code::kInvalidArgument);
  EXPECT_EQ(columns({5, 4}).error().code, Code::kInvalidArgument);
}

}  // namespace
}  // namespace corral::query
