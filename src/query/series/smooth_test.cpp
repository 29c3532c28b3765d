#include "query/series/smooth.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "query/series/test_full_data.h"

namespace corral::query {
namespace {

using testing::Sample;
using testing::Scenario;
using testing::ScenarioData;

constexpr SeriesId kSeries{1};
constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

Scenario any_scenario() {
  Scenario s;
  s.seed = *rc::gen::arbitrary<std::uint64_t>();
  s.blocks = *rc::gen::element(0, 1, 2, 9);
  s.chunks = *rc::gen::inRange(0, 3);
  s.sessions = *rc::gen::inRange(1, 3);
  s.overlap = *rc::gen::arbitrary<bool>();
  s.not_finite = *rc::gen::arbitrary<bool>();
  s.ties = *rc::gen::arbitrary<bool>();
  return s;
}

AxisGrid any_grid(const ScenarioData& data, bool steps) {
  auto [low, high] =
      data.all.empty() ? std::pair<std::int64_t, std::int64_t>{0, 1000} : data.extent(steps);
  const std::int64_t length = high - low + 1;
  const std::int64_t from = low + length * *rc::gen::inRange(-10, 80) / 100;
  return {.axis = steps ? GridAxis::kStep : GridAxis::kTime,
          .from = from,
          .to = from + 1 + length * *rc::gen::inRange(10, 120) / 100,
          .columns = static_cast<std::uint32_t>(*rc::gen::element(1, 9, 60))};
}

SmoothedSeries smoothed(ScenarioData& data, const AxisGrid& grid, const SmoothOptions& options) {
  const auto answer =
      smooth(data.view, {.series = {{.series = kSeries}}, .grid = grid, .options = options});
  EXPECT_TRUE(answer) << answer.error().message;
  return answer ? answer->at(0) : SmoothedSeries{};
}

struct XY {
  std::int64_t x = 0;
  double y = 0;
};
std::vector<XY> finite_points(const ScenarioData& data, bool steps) {
  std::vector<XY> points;
  for (const Sample& s : data.by_time())
    if (std::isfinite(s.value) && (!steps || s.step))
      points.push_back({steps ? *s.step : s.time, s.value});
  return points;
}

std::optional<std::size_t> column_of(const AxisGrid& grid, std::int64_t x) {
  if (x < grid.from || x >= grid.to) return std::nullopt;
  __extension__ using Wide = __int128;
  return static_cast<std::size_t>(static_cast<Wide>(x - grid.from) * grid.columns /
                                  (grid.to - grid.from));
}

// ---- oracles, as TensorBoard and W&B write them
std::vector<double> tensorboard(const std::vector<XY>& points, const AxisGrid& grid, double alpha) {
  std::vector<double> columns(grid.columns, kNone);
  double last = 0;
  int count = 0;
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (grid.axis == GridAxis::kStep && i > 0 && points[i].x < points[i - 1].x) last = count = 0;
    last = last * alpha + (1 - alpha) * points[i].y;
    ++count;
    if (const auto column = column_of(grid, points[i].x))
      columns[*column] = last / (1 - std::pow(alpha, count));
  }
  return columns;
}
std::vector<double> wandb(const std::vector<XY>& points, const AxisGrid& grid,
                          const SmoothOptions& options) {
  std::vector<double> columns(grid.columns, kNone);
  double last = 0;
  double weight = 0;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const auto change = static_cast<double>(i > 0 ? points[i].x - points[i - 1].x : 0);
    if (change < 0) last = weight = 0;
    const double alpha = std::pow(options.alpha, std::max(0.0, change) / options.unit);
    last = last * alpha + points[i].y;
    weight = weight * alpha + 1;
    if (const auto column = column_of(grid, points[i].x)) columns[*column] = last / weight;
  }
  return columns;
}
template <class Weight>
std::vector<double> centred(const std::vector<XY>& points, const AxisGrid& grid, Weight&& weight) {
  std::vector<double> columns(grid.columns, kNone);
  const AxisCells cells = AxisCells::uniform(grid, 0);
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const std::int64_t middle = cells.begin(i) + (cells.end(i) - cells.begin(i)) / 2;
    double sum = 0;
    double weights = 0;
    for (const XY& p : points) {
      const double w = weight(p.x - middle);
      sum += w * p.y;
      weights += w;
    }
    if (weights > 0) columns[i] = sum / weights;
  }
  return columns;
}

void expect_near(const std::vector<double>& got, const std::vector<double>& want,
                 double tolerance) {
  RC_ASSERT(got.size() == want.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    RC_ASSERT(std::isnan(got[i]) == std::isnan(want[i]));
    if (!std::isnan(got[i])) RC_ASSERT(std::abs(got[i] - want[i]) <= tolerance);
  }
}

RC_GTEST_PROP(Smooth, TimeEmaOverEveryPointIsThatOfWandb, ()) {
  Scenario scenario = any_scenario();
  const bool steps = *rc::gen::arbitrary<bool>();
  scenario.steps = steps;
  ScenarioData data(scenario);
  const AxisGrid grid = any_grid(data, steps);
  const SmoothOptions options{.kind = Smoothing::kTimeEma,
                              .alpha = *rc::gen::element(0.1, 0.9, 0.999),
                              .unit = steps ? 20.0 : *rc::gen::element(1e5, 1e7, 1e9)};
  const auto got = smoothed(data, grid, options);
  RC_ASSERT(!got.from_buckets);
  RC_ASSERT(got.in_order);
  expect_near(got.values, wandb(finite_points(data, steps), grid, options), 1e-9);
}

RC_GTEST_PROP(Smooth, PointEmaOverEveryPointIsThatOfTensorBoard, ()) {
  Scenario scenario = any_scenario();
  const bool steps = *rc::gen::arbitrary<bool>();
  scenario.steps = steps;
  ScenarioData data(scenario);
  const AxisGrid grid = any_grid(data, steps);
  const double alpha = *rc::gen::element(0.3, 0.9, 0.999);
  const auto got = smoothed(data, grid, {.kind = Smoothing::kPointEma, .alpha = alpha});
  RC_ASSERT(!got.from_buckets);
  expect_near(got.values, tensorboard(finite_points(data, steps), grid, alpha), 1e-7);
}

// Values wander between -110 and 110 with noise of +-10.
RC_GTEST_PROP(Smooth, EmaFromBucketsIsNear, ()) {
  Scenario scenario = any_scenario();
  scenario.blocks = *rc::gen::element(4, 9, 17);
  // The rests of several sessions come after all blocks: so many points are not put in order.
  scenario.sessions = 1;
  scenario.overlap = false;
  scenario.not_finite = false;
  ScenarioData data(scenario);
  const AxisGrid grid = any_grid(data, false);
  SmoothOptions options{.kind = *rc::gen::element(Smoothing::kTimeEma, Smoothing::kPointEma),
                        .max_points = 1000};
  std::vector<double> want;
  if (options.kind == Smoothing::kTimeEma) {
    options.alpha = 0.9;
    options.unit = *rc::gen::element(1e5, 1e6, 1e8, 1e9);
    want = wandb(finite_points(data, false), grid, options);
  } else {
    options.alpha = *rc::gen::element(0.5, 0.99, 0.9999);
    want = tensorboard(finite_points(data, false), grid, options.alpha);
  }
  expect_near(smoothed(data, grid, options).values, want, 0.2);
}

TEST(Smooth, SaysThatBucketsWereUsed) {
  ScenarioData data({.seed = 2, .blocks = 9});
  const auto [low, high] = data.extent(false);
  const AxisGrid grid{.from = low, .to = high + 1, .columns = 10};
  SmoothOptions options{.alpha = 0.9, .unit = 1e9};
  EXPECT_FALSE(smoothed(data, grid, options).from_buckets);
  options.max_points = 1000;
  EXPECT_TRUE(smoothed(data, grid, options).from_buckets);
}

TEST(Smooth, TheViewDoesNotChangeTheValue) {
  ScenarioData data({.seed = 8, .blocks = 9});
  const auto [low, high] = data.extent(false);
  const std::int64_t end = high + 1;
  for (const Smoothing kind : {Smoothing::kTimeEma, Smoothing::kPointEma}) {
    const SmoothOptions options{.kind = kind, .alpha = 0.999, .unit = 1e6, .max_points = 20'000};
    const auto far = smoothed(data, {.from = low, .to = end, .columns = 1}, options);
    const auto close = smoothed(data, {.from = end - 1'000'000, .to = end, .columns = 1}, options);
    EXPECT_NEAR(far.values[0], close.values[0], 0.01);
  }
}

TEST(Smooth, OverlapTooLargeToSortIsTold) {
  ScenarioData data({.seed = 5, .blocks = 9, .sessions = 2, .overlap = true});
  const auto [low, high] = data.extent(false);
  const AxisGrid grid{.from = low, .to = high + 1, .columns = 10};
  EXPECT_TRUE(smoothed(data, grid, {}).in_order);
  EXPECT_FALSE(smoothed(data, grid, {.max_points = 1000}).in_order);
}

RC_GTEST_PROP(Smooth, GaussianIsThatOfEveryPoint, ()) {
  Scenario scenario = any_scenario();
  scenario.steps = *rc::gen::arbitrary<bool>();
  ScenarioData data(scenario);
  const bool steps = scenario.steps;
  const AxisGrid grid = any_grid(data, steps);
  const double length = static_cast<double>(grid.to - grid.from);
  const double width = length * *rc::gen::element(0.003, 0.02, 0.3);
  const auto got = smoothed(data, grid, {.kind = Smoothing::kGaussian, .width = width});
  RC_ASSERT(got.width == width);
  RC_ASSERT(!got.from_buckets);
  const auto points = finite_points(data, steps);
  const auto want = centred(points, grid, [&](std::int64_t dx) {
    const double x = static_cast<double>(dx) / width;
    return std::abs(x) <= 4 ? std::exp(-x * x / 2) : 0.0;
  });
  // A point where the Gaussian is cut is in or out by the last digit of a quotient.
  const auto at_cut = centred(points, grid, [&](std::int64_t dx) {
    return std::abs(std::abs(static_cast<double>(dx)) / width - 4) < 1e-9 ? 1.0 : 0.0;
  });
  for (std::size_t i = 0; i < want.size(); ++i)
    if (!std::isnan(got.values[i]) && std::isnan(at_cut[i]))
      RC_ASSERT(std::abs(got.values[i] - want[i]) <= 1e-9);
  // A point within 2.9 standard deviations of a column's middle gives it a value.
  const auto inside = centred(points, grid, [&](std::int64_t dx) {
    return std::abs(static_cast<double>(dx)) <= 2.9 * width ? 1.0 : 0.0;
  });
  for (std::size_t i = 0; i < want.size(); ++i)
    if (!std::isnan(inside[i])) RC_ASSERT(!std::isnan(got.values[i]));
}

// Half a step wide: a cell of a sixteenth of it is far less than a step.
TEST(Smooth, ANarrowGaussianOverStepsIsExact) {
  testing::MemoryView view;
  testing::Points points;
  for (std::int64_t i = 0; i < 1500; ++i) {
    points.times.push_back(i * 1000);
    points.steps.push_back(i);
    points.values.push_back(std::sin(static_cast<double>(i)));
  }
  view.add(kSeries, 1, points);
  view.finish();
  for (const std::uint64_t most : {4'000'000U, 100U}) {
    const auto answer =
        smooth(view, {.series = {{.series = kSeries}},
                      .grid = {.axis = GridAxis::kStep, .from = 0, .to = 1500, .columns = 20},
                      .options = {.kind = Smoothing::kGaussian, .width = 0.5, .max_points = most}});
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->at(0).from_buckets, most == 100U);
    if (answer->at(0).from_buckets) continue;
    for (std::size_t c = 0; c < 20; ++c) {
      double sum = 0, weights = 0;
      for (int d = -2; d <= 2; ++d) {  // up to 4 deviations
        const double w = std::exp(-2.0 * d * d);
        sum += w * std::sin(static_cast<double>(75 * c + 37) + d);
        weights += w;
      }
      EXPECT_NEAR(answer->at(0).values[c], sum / weights, 1e-12) << c;
    }
  }
}

// Cells of a 16th of its width stand for their points where there are too many pairs of points and
// columns, buckets where there are too many points.
TEST(Smooth, AGaussianOfTooMuchIsNearAndSaysSo) {
  ScenarioData data({.seed = 2, .blocks = 9});
  const auto [low, high] = data.extent(false);
  const AxisGrid grid{.from = low, .to = high + 1, .columns = 300};
  SmoothOptions options{.kind = Smoothing::kGaussian, .width = static_cast<double>(high - low) / 4};
  const auto want = centred(finite_points(data, false), grid, [&](std::int64_t dx) {
    const double x = static_cast<double>(dx) / options.width;
    return std::abs(x) <= 4 ? std::exp(-x * x / 2) : 0.0;
  });
  for (const std::uint64_t most : {4'000'000U, 1000U}) {
    options.max_points = most;
    const auto got = smoothed(data, grid, options);
    EXPECT_TRUE(got.from_buckets);
    for (std::size_t i = 0; i < 300; ++i)
      EXPECT_NEAR(got.values[i], want[i], most > 1000 ? 0.05 : 0.5) << i;
  }
  options = {.kind = Smoothing::kGaussian, .width = static_cast<double>(high - low) / 500};
  EXPECT_FALSE(smoothed(data, grid, options).from_buckets);
}

TEST(Smooth, GaussianOfALineIsTheLine) {
  testing::MemoryView view;
  testing::Points points;
  for (std::int64_t i = 0; i < 2000; ++i) {
    points.times.push_back(i * 1000);
    points.values.push_back(3.0 + static_cast<double>(i));
  }
  view.add(kSeries, 1, points);
  view.finish();
  const auto answer = smooth(view, {.series = {{.series = kSeries}},
                                    .grid = {.from = 500'000, .to = 1'500'000, .columns = 100},
                                    .options = {.kind = Smoothing::kGaussian, .width = 50'000}});
  ASSERT_TRUE(answer);
  for (std::size_t i = 0; i < 100; ++i)
    EXPECT_NEAR(answer->at(0).values[i], 3.0 + 505 + 10 * static_cast<double>(i), 0.5);
}

RC_GTEST_PROP(Smooth, RunningMeanIsExact, ()) {
  Scenario scenario = any_scenario();
  scenario.steps = *rc::gen::arbitrary<bool>();
  ScenarioData data(scenario);
  const AxisGrid grid = any_grid(data, scenario.steps);
  const std::int64_t width =
      std::max<std::int64_t>(1, (grid.to - grid.from) * *rc::gen::inRange(1, 500) / 1000);
  const auto got =
      smoothed(data, grid, {.kind = Smoothing::kRunningMean, .width = static_cast<double>(width)});
  RC_ASSERT(!got.from_buckets);
  expect_near(got.values,
              centred(finite_points(data, scenario.steps), grid,
                      [&](std::int64_t dx) {
                        return dx >= -(width / 2) && dx < width - width / 2 ? 1.0 : 0.0;
                      }),
              1e-8);
}

TEST(Smooth, RunningMeanFromBucketsIsNear) {
  ScenarioData data({.seed = 2, .blocks = 17});
  const auto [low, high] = data.extent(false);
  const AxisGrid grid{.from = low, .to = high + 1, .columns = 100};
  SmoothOptions options{.kind = Smoothing::kRunningMean,
                        .width = static_cast<double>(high - low) / 10};
  const auto exact = smoothed(data, grid, options);
  options.max_points = 1000;
  const auto fast = smoothed(data, grid, options);
  EXPECT_TRUE(fast.from_buckets);
  for (std::size_t i = 0; i < 100; ++i) EXPECT_NEAR(fast.values[i], exact.values[i], 1.5);
}

TEST(Smooth, RefusesWhatMeansNothing) {
  ScenarioData data({.blocks = 0});
  const AxisGrid grid{.from = 0, .to = 9, .columns = 1};
  for (const SmoothOptions& options :
       {SmoothOptions{.alpha = 1}, SmoothOptions{.alpha = 0}, SmoothOptions{.alpha = kNone},
        SmoothOptions{.unit = 0}, SmoothOptions{.kind = Smoothing::kGaussian, .width = 0},
        SmoothOptions{.kind = Smoothing::kRunningMean, .width = kNone}}) {
    const auto answer = smooth(data.view, {.series = {}, .grid = grid, .options = options});
    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().code, Code::kInvalidArgument);
  }
}

}  // namespace
}  // namespace corral::query
