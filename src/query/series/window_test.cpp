#include "query/series/window.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>

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
  s.blocks = *rc::gen::element(0, 1, 2, 9);
  s.chunks = *rc::gen::inRange(0, 3);
  s.sessions = *rc::gen::inRange(1, 3);
  s.overlap = *rc::gen::arbitrary<bool>();
  s.not_finite = *rc::gen::arbitrary<bool>();
  s.steps = *rc::gen::arbitrary<bool>();
  s.ties = *rc::gen::arbitrary<bool>();
  return s;
}

std::pair<std::int64_t, std::int64_t> any_range(const ScenarioData& data, bool steps) {
  auto [low, high] =
      data.all.empty() ? std::pair<std::int64_t, std::int64_t>{0, 1000} : data.extent(steps);
  const std::int64_t length = high - low + 1;
  const std::int64_t from = low + length * *rc::gen::inRange(-10, 90) / 100;
  return {from, from + 1 + length * *rc::gen::inRange(1, 120) / 100};
}

bool near(double a, double b, double tolerance) {
  return std::abs(a - b) <= tolerance * (1 + std::abs(b));
}

// ---- integrals: stretch by stretch, each cut into columns by hand
struct NaiveCell {
  double integral = 0, covered = 0;
};
std::vector<NaiveCell> naive_integral(const ScenarioData& data, const AxisGrid& grid,
                                      const IntegralOptions& options) {
  std::vector<NaiveCell> cells(grid.columns);
  const AxisCells borders = AxisCells::uniform(grid, 0);
  std::map<std::int64_t, Sample> last;
  for (const Sample& s : data.by_time()) {
    const auto found = last.find(s.session);
    if (found != last.end()) {
      const Sample& p = found->second;
      const auto length = static_cast<double>(s.time - p.time);
      const bool line = std::isfinite(s.value) && std::isfinite(p.value) && length > 0 &&
                        s.time - p.time <= options.max_gap.count();
      for (std::size_t c = 0; line && c < cells.size(); ++c) {
        const std::int64_t a = std::max(p.time, borders.begin(c));
        const std::int64_t b = std::min(s.time, borders.end(c));
        if (a >= b) continue;
        const auto at = [&](std::int64_t t) {
          return p.value + (s.value - p.value) * static_cast<double>(t - p.time) / length;
        };
        const double value = options.rule == IntegralRule::kForward    ? p.value
                             : options.rule == IntegralRule::kBackward ? s.value
                                                                       : (at(a) + at(b)) / 2;
        cells[c].integral += value * static_cast<double>(b - a) * 1e-9;
        cells[c].covered += static_cast<double>(b - a) * 1e-9;
      }
    }
    last[s.session] = s;
  }
  return cells;
}

IntegralSeries integrated(ScenarioData& data, const AxisGrid& grid,
                          const IntegralOptions& options) {
  const auto answer =
      integrate(data.view, {.series = {{.series = kSeries}}, .grid = grid, .options = options});
  EXPECT_TRUE(answer) << answer.error().message;
  return answer ? answer->at(0) : IntegralSeries{};
}

RC_GTEST_PROP(Integral, IsThatOfEveryStretch, ()) {
  ScenarioData data(any_scenario());
  const auto [from, to] = any_range(data, false);
  const AxisGrid grid{.from = from, .to = to, .columns = *rc::gen::inRange<std::uint32_t>(1, 20)};
  const IntegralOptions options{
      .rule = *rc::gen::element(IntegralRule::kTrapezoid, IntegralRule::kForward,
                                IntegralRule::kBackward),
      .max_gap = Nanos(*rc::gen::element<std::int64_t>(150'000, 1'000'000'000'000))};
  const auto got = integrated(data, grid, options);
  RC_ASSERT(got.exact);
  const auto want = naive_integral(data, grid, options);
  for (std::size_t i = 0; i < want.size(); ++i) {
    RC_ASSERT(near(got.cells[i].integral, want[i].integral, 1e-9));
    RC_ASSERT(near(got.cells[i].covered, want[i].covered, 1e-9));
    RC_ASSERT(got.cells[i].least == got.cells[i].integral);
  }
}

RC_GTEST_PROP(Integral, EstimateLiesNearAndItsBoundsHold, ()) {
  Scenario scenario = any_scenario();
  scenario.sessions = 1;
  scenario.overlap = scenario.not_finite = false;
  ScenarioData data(scenario);
  const auto [from, to] = any_range(data, false);
  const AxisGrid grid{.from = from, .to = to, .columns = *rc::gen::inRange<std::uint32_t>(1, 20)};
  IntegralOptions options;
  const auto exact = integrated(data, grid, options);
  options.max_points = 0;
  const auto fast = integrated(data, grid, options);
  for (std::size_t i = 0; i < exact.cells.size(); ++i) {
    const IntegralCell& e = exact.cells[i];
    const IntegralCell& f = fast.cells[i];
    RC_ASSERT(near(f.covered, e.covered, 1e-9));
    RC_ASSERT(f.least <= e.integral + 1e-9);
    RC_ASSERT(f.most >= e.integral - 1e-9);
    RC_ASSERT(f.least - 1e-9 <= f.integral && f.integral <= f.most + 1e-9);
    // Values have noise of up to 10, points no even spacing (at most 0.2 ms): a bucket's mean by
    // points is not that by time (six standard deviations), nor that of the part of it that lies
    // inside the column.
    const double points = std::max(1.0, e.covered / 1e-4);
    const double open = (f.most - f.least) / 8;
    RC_ASSERT(std::abs(f.integral - e.integral) <=
              36 / std::sqrt(points) * e.covered + open + 1e-9);
  }
}

// ---- rates: the counts
IntegralSeries counted(ScenarioData& data, const AxisGrid& grid, std::uint64_t max_points) {
  const auto answer =
      integrate(data.view, {.series = {{.series = kSeries, .channel = store::Channel::kRate}},
                            .grid = grid,
                            .options = {.rule = IntegralRule::kBackward,
                                        .max_gap = std::chrono::hours(24),
                                        .max_points = max_points}});
  EXPECT_TRUE(answer) << answer.error().message;
  return answer ? answer->at(0) : IntegralSeries{};
}

// All that a counter went up from sample to sample of a session, as they arrived, no matter whether
// the channel was stored; a step down counts nothing, nor do two samples at one time.
RC_GTEST_PROP(Integral, OfARateIsWhatWasCounted, ()) {
  Scenario scenario = any_scenario();
  scenario.counter = true;
  ScenarioData data(scenario);
  if (data.all.empty()) return;
  double want = 0;
  double seconds = 0;
  std::map<std::int64_t, Sample> last;
  for (const Sample& s : data.all) {
    if (!std::isfinite(s.value)) continue;
    const auto before = last.find(s.session);
    if (before != last.end() && s.time > before->second.time && s.value >= before->second.value) {
      want += s.value - before->second.value;
      seconds += static_cast<double>(s.time - before->second.time) * 1e-9;
    }
    last[s.session] = s;
  }
  const auto [low, high] = data.extent(false);
  const AxisGrid grid{
      .from = low, .to = high + 1, .columns = *rc::gen::inRange<std::uint32_t>(1, 20)};
  const auto got = counted(data, grid, 10'000'000);
  RC_ASSERT(got.exact);
  double sum = 0;
  double covered = 0;
  for (const IntegralCell& cell : got.cells) {
    sum += cell.integral;
    covered += cell.covered;
    RC_ASSERT(cell.least == cell.integral && cell.most == cell.integral);
  }
  RC_ASSERT(near(sum, want, 1e-10));
  RC_ASSERT(near(covered, seconds, 1e-10));
}

RC_GTEST_PROP(Integral, EstimateOfARateLiesBetweenItsBounds, ()) {
  Scenario scenario = any_scenario();
  scenario.sessions = 1;
  scenario.overlap = false;
  scenario.counter = true;
  ScenarioData data(scenario);
  const auto [from, to] = any_range(data, false);
  const AxisGrid grid{.from = from, .to = to, .columns = *rc::gen::inRange<std::uint32_t>(1, 20)};
  const auto exact = counted(data, grid, 10'000'000);
  const auto fast = counted(data, grid, 0);
  for (std::size_t i = 0; i < exact.cells.size(); ++i) {
    const IntegralCell& e = exact.cells[i];
    const IntegralCell& f = fast.cells[i];
    RC_ASSERT(near(f.covered, e.covered, 1e-9));
    RC_ASSERT(f.least <= e.integral * (1 + 1e-9) + 1e-9);
    RC_ASSERT(f.most >= e.integral * (1 - 1e-9) - 1e-9);
  }
}

TEST(Integral, EstimateOfARateBeginsAtTheFirstSample) {
  testing::MemoryView view;
  testing::Points points;
  for (std::int64_t i = 0; i < 3 * 8192; ++i) {
    points.times.push_back(i * 1'000'000);
    points.values.push_back(static_cast<double>(i < 10'000 ? 5 * i : i));  // reset once
  }
  view.add(kSeries, 1, points);
  view.finish(true);
  for (const std::uint64_t most : {0U, 1'000'000U}) {
    const auto answer =
        integrate(view, {.series = {{.series = kSeries, .channel = store::Channel::kRate}},
                         .grid = {.from = 0, .to = points.times.back() + 1, .columns = 3},
                         .options = {.rule = IntegralRule::kBackward, .max_points = most}});
    ASSERT_TRUE(answer);
    double sum = 0;
    for (const IntegralCell& cell : answer->at(0).cells) sum += cell.integral;
    EXPECT_EQ(answer->at(0).exact, most > 0);
    EXPECT_NEAR(sum, 5.0 * 9999 + (3 * 8192 - 1 - 10'000), 1e-6);
  }
}

TEST(WindowStatistics, ASampleWithoutARateIsNotAPoint) {
  ScenarioData data({.seed = 4, .blocks = 4, .chunks = 2, .sessions = 3});  // a gauge
  const auto [low, high] = data.extent(false);
  const auto answer = window_statistics(
      data.view,
      {.series = {{.series = kSeries, .channel = store::Channel::kRate}, {.series = kSeries}},
       .from = low,
       .to = high + 1});
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->at(0).not_finite, 0U);
  EXPECT_GT(answer->at(0).count, 0U);
  EXPECT_LT(answer->at(0).count, answer->at(1).count);
}

// Two supervisors that measure one host: 100 W are 100 W.
TEST(Integral, OfAHostCountsTimeThatTwoSessionsMeasuredOnce) {
  for (const std::uint64_t most : {1'000'000U, 0U}) {
    testing::MemoryView view;
    for (const std::int64_t session : {1, 2}) {
      testing::Points points;
      for (std::int64_t i = 0; i < 4 * 8192; ++i) {
        points.times.push_back((2 * i + session) * 1'000'000);
        points.values.push_back(100);
      }
      view.add(kSeries, session, points);
    }
    view.finish();
    view.measure_same_thing(kSeries);
    const std::int64_t end = 8 * 8192 * std::int64_t{1'000'000};
    const auto answer = integrate(view, {.series = {{.series = kSeries}},
                                         .grid = {.from = 0, .to = end, .columns = 4},
                                         .options = {.max_points = most}});
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->at(0).exact, most > 0);
    const double width = static_cast<double>(end) / 4 * 1e-9;
    for (const IntegralCell& cell : answer->at(0).cells) {
      EXPECT_NEAR(cell.covered, width, 0.002);
      EXPECT_NEAR(cell.integral, 100 * width, 0.2);
      EXPECT_GE(cell.most, cell.integral * (1 - 1e-9));
      EXPECT_LE(cell.least, cell.integral * (1 + 1e-9));
    }
  }
}

TEST(Integral, OfAHostTakesFromASecondSessionWhatTheFirstHasNot) {
  testing::MemoryView view;
  view.add(kSeries, 1, {.times = {0, 100, 200}, .steps = {}, .values = {1, 1, 1}});
  view.add(kSeries, 2, {.times = {50, 150, 320}, .steps = {}, .values = {1, 1, 1}});
  view.add(kSeries, 1, {.times = {400, 500}, .steps = {}, .values = {1, 1}});
  view.finish();
  view.measure_same_thing(kSeries);
  const auto answer = integrate(view, {.series = {{.series = kSeries}},
                                       .grid = {.from = 0, .to = 600, .columns = 1},
                                       .options = {.max_gap = Nanos(180)}});
  ASSERT_TRUE(answer);
  EXPECT_NEAR(answer->at(0).cells[0].covered, 420e-9, 1e-15) << "0 to 320 and 400 to 500";
  EXPECT_NEAR(answer->at(0).cells[0].integral, 420e-9, 1e-15);
}

TEST(Integral, OfNothingHasNoMean) {
  ScenarioData data({.blocks = 0, .chunks = 0});
  const auto got = integrated(data, {.from = 0, .to = 9, .columns = 2}, {});
  EXPECT_EQ(got.cells[1].integral, 0);
  EXPECT_TRUE(std::isnan(got.cells[1].mean()));
  const auto refused = integrate(
      data.view,
      {.series = {}, .grid = {.axis = GridAxis::kStep, .to = 9, .columns = 1}, .options = {}});
  EXPECT_EQ(refused.error().code, Code::kInvalidArgument);
}

// ---- quantiles and the rest of a window
double naive_quantile(std::vector<double> values, double p) {
  std::ranges::sort(values);
  const double place = p * static_cast<double>(values.size() - 1);
  const auto low = static_cast<std::size_t>(place);
  const std::size_t high = std::min(low + 1, values.size() - 1);
  return values[low] + (values[high] - values[low]) * (place - static_cast<double>(low));
}

struct Window {
  std::vector<Sample> finite;  // by x, then order of arrival
  std::uint64_t not_finite = 0;
  [[nodiscard]] std::vector<double> values() const {
    std::vector<double> v;
    for (const Sample& s : finite) v.push_back(s.value);
    return v;
  }
};
Window points_in(const ScenarioData& data, bool steps, std::int64_t from, std::int64_t to) {
  Window window;
  Samples all = data.all;
  if (steps) std::erase_if(all, [](const Sample& s) { return !s.step; });
  std::ranges::stable_sort(all, {}, [&](const Sample& s) { return steps ? *s.step : s.time; });
  for (const Sample& s : all) {
    const std::int64_t x = steps ? *s.step : s.time;
    if (x < from || x >= to) continue;
    if (std::isfinite(s.value)) {
      window.finite.push_back(s);
    } else {
      ++window.not_finite;
    }
  }
  return window;
}

RC_GTEST_PROP(Quantiles, ExactOrBetweenTheirBounds, ()) {
  const Scenario scenario = any_scenario();
  ScenarioData data(scenario);
  const auto [from, to] = any_range(data, scenario.steps);
  QuantileRequest request{.series = {{.series = kSeries}},
                          .axis = scenario.steps ? GridAxis::kStep : GridAxis::kTime,
                          .from = from,
                          .to = to,
                          .probabilities = {0, 0.01, 0.25, 0.5, 0.99, 1}};
  const auto values = points_in(data, scenario.steps, from, to).values();
  const auto exact = quantiles(data.view, request);
  request.max_points = 5000;
  const auto fast = quantiles(data.view, request);
  RC_ASSERT(exact.has_value() && fast.has_value());
  RC_ASSERT(exact->at(0).exact);
  RC_ASSERT(exact->at(0).count == values.size());
  RC_ASSERT(fast->at(0).count == values.size());
  for (std::size_t i = 0; i < request.probabilities.size(); ++i) {
    const Quantile& e = exact->at(0).quantiles[i];
    const Quantile& f = fast->at(0).quantiles[i];
    if (values.empty()) {
      RC_ASSERT(std::isnan(e.value) && std::isnan(f.value));
      continue;
    }
    const double want = naive_quantile(values, request.probabilities[i]);
    RC_ASSERT(near(e.value, want, 1e-12));
    RC_ASSERT(e.least == e.value && e.most == e.value);
    RC_ASSERT(f.least <= want + 1e-9 && want <= f.most + 1e-9);
    RC_ASSERT(f.least <= f.value && f.value <= f.most);
  }
}

TEST(Quantiles, EstimateOfManyPointsIsNear) {
  ScenarioData data({.seed = 6, .blocks = 40});
  QuantileRequest request{.series = {{.series = kSeries}},
                          .from = 0,
                          .to = std::numeric_limits<std::int64_t>::max(),
                          .probabilities = {0.05, 0.5, 0.95}};
  const auto exact = quantiles(data.view, request);
  request.max_points = 50'000;
  const auto fast = quantiles(data.view, request);
  ASSERT_TRUE(exact && fast);
  EXPECT_FALSE(fast->at(0).exact);
  EXPECT_LT(fast->at(0).sample, 60'000U);
  for (std::size_t i = 0; i < 3; ++i)
    EXPECT_NEAR(fast->at(0).quantiles[i].value, exact->at(0).quantiles[i].value, 8);
  request.probabilities = {1.5};
  EXPECT_EQ(quantiles(data.view, request).error().code, Code::kInvalidArgument);
}

RC_GTEST_PROP(WindowStatistics, AreThoseOfEveryPoint, ()) {
  const Scenario scenario = any_scenario();
  ScenarioData data(scenario);
  const bool steps = scenario.steps && *rc::gen::arbitrary<bool>();
  const auto [from, to] = any_range(data, steps);
  const auto answer =
      window_statistics(data.view, {.series = {{.series = kSeries}},
                                    .axis = steps ? GridAxis::kStep : GridAxis::kTime,
                                    .from = from,
                                    .to = to,
                                    .probabilities = {0.5}});
  RC_ASSERT(answer.has_value());
  const WindowStatistics& got = answer->at(0);
  const Window want = points_in(data, steps, from, to);
  const auto values = want.values();
  RC_ASSERT(got.count == values.size());
  RC_ASSERT(got.not_finite == want.not_finite);
  RC_ASSERT(got.first.has_value() == !values.empty());
  RC_ASSERT(got.integral.has_value() == !steps);
  if (values.empty()) return;
  const auto placed = [](const Sample& s) {
    return PlacedValue{.value = s.value, .time = s.time, .step = s.step};
  };
  RC_ASSERT(got.first == placed(want.finite.front()));
  RC_ASSERT(got.last == placed(want.finite.back()));
  RC_ASSERT(got.min->value == *std::ranges::min_element(values));
  RC_ASSERT(got.max->value == *std::ranges::max_element(values));
  RC_ASSERT(
      std::ranges::any_of(want.finite, [&](const Sample& s) { return placed(s) == got.max; }));
  RC_ASSERT(
      std::ranges::any_of(want.finite, [&](const Sample& s) { return placed(s) == got.min; }));
  long double sum = 0;
  for (const double v : values) sum += v;
  const auto n = static_cast<long double>(values.size());
  long double squares = 0;
  for (const double v : values) squares += (v - sum / n) * (v - sum / n);
  RC_ASSERT(near(got.sum, static_cast<double>(sum), 1e-9));
  RC_ASSERT(near(*got.mean, static_cast<double>(sum / n), 1e-9));
  RC_ASSERT(got.deviation.has_value() == (values.size() > 1));
  if (values.size() > 1)
    RC_ASSERT(near(*got.deviation, static_cast<double>(std::sqrt(squares / (n - 1))), 1e-9));
  RC_ASSERT(near(got.quantiles.quantiles[0].value, naive_quantile(values, 0.5), 1e-12));
}

TEST(WindowStatistics, WhatWouldTakeTooLongIsLeftOut) {
  ScenarioData data({.seed = 1, .blocks = 9});
  const auto answer = window_statistics(data.view, {.series = {{.series = kSeries}},
                                                    .from = 0,
                                                    .to = std::numeric_limits<std::int64_t>::max(),
                                                    .max_points = 1000});
  ASSERT_TRUE(answer);
  EXPECT_GT(answer->at(0).count, 9 * 8192U);
  EXPECT_FALSE(answer->at(0).deviation);
  EXPECT_FALSE(answer->at(0).integral_exact);
  EXPECT_TRUE(answer->at(0).integral);
}

TEST(WindowStatistics, ADamagedBlockTakesOnlyThePlaceOfAnExtreme) {
  ScenarioData data({.seed = 1, .blocks = 8, .chunks = 0});
  for (std::int64_t b = 0; b < 8; ++b) data.view.damage_block(kSeries, b);
  const auto answer = window_statistics(
      data.view,
      {.series = {{.series = kSeries}}, .from = 0, .to = std::numeric_limits<std::int64_t>::max()});
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(answer->at(0).count, 8 * testing::kPartPoints);
  ASSERT_TRUE(answer->at(0).max);
  EXPECT_GT(answer->at(0).max->value, 90);
  EXPECT_FALSE(answer->at(0).max->time);
  EXPECT_GT(answer->at(0).lost.points, 0U);
}

RC_GTEST_PROP(Latest, IsTheNewestFiniteValue, ()) {
  ScenarioData data(any_scenario());
  const auto got = latest_value(data.view, {.series = kSeries});
  const auto unknown = latest_value(data.view, {.series = SeriesId{99}});
  RC_ASSERT(got.has_value() && unknown.has_value());
  RC_ASSERT(!unknown->has_value());
  Samples sorted = data.by_time();
  std::erase_if(sorted, [](const Sample& s) { return !std::isfinite(s.value); });
  RC_ASSERT(got->has_value() == !sorted.empty());
  if (sorted.empty()) return;
  const Sample& last = sorted.back();
  RC_ASSERT(**got == (PlacedValue{.value = last.value, .time = last.time, .step = last.step}));
}

}  // namespace
}  // namespace corral::query
