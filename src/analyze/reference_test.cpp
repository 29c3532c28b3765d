// Smoothing and group statistics against numpy 1.24 and scipy 1.11. The numbers come from
//
//   y = np.round(np.random.default_rng(6).normal(10, 3, 16), 2); one = np.ones_like(y); a = 0.8
//   point: signal.lfilter([1 - a], [1, -a], y) / (1 - a ** np.arange(1, 17))
//   gaussian: f(y) / f(one), f = lambda v: ndimage.gaussian_filter1d(v, 1.6, mode="constant")
//   mean: f(y) / f(one), f = lambda v: ndimage.uniform_filter1d(v, 5, mode="constant")
//   t = np.cumsum([1, 1, 4, 2, 9, 1, 1, 1, 3, 5, 2, 2, 7, 1, 1, 30])
//   time: w = np.tril(a ** np.subtract.outer(t, t).clip(0)); (w * y).sum(1) / w.sum(1)
//   r = np.round(np.random.default_rng(7).normal(100, 8, (6, 3)), 1)
//   deviation: r.std(0, ddof=1); interval: stats.t.ppf(0.975, 5) * stats.sem(r)
#include <gtest/gtest.h>

#include <cmath>

#include "analyze/group.h"
#include "query/series/smooth.h"
#include "query/series/test_memory_view.h"

namespace corral::analyze {
namespace {

const std::vector<double> kValues{13.16, 15.33, 2.34,  9.59, 13.04, 14.06, 11.96, 14.49,
                                  10.87, 11.65, 10.54, 6.78, 7.46,  11.14, 8.26,  13.81};

// One point in the middle of each column of 10 ns, or at these times.
std::vector<double> smoothed(const query::SmoothOptions& options,
                             std::vector<std::int64_t> times = {}) {
  query::testing::Points points{.times = {}, .steps = {}, .values = kValues};
  for (std::size_t i = 0; i < kValues.size(); ++i)
    points.times.push_back(times.empty() ? 5 + 10 * static_cast<std::int64_t>(i) : times[i]);
  query::testing::MemoryView view;
  view.add(SeriesId{1}, 1, points);
  view.finish();
  const std::int64_t columns = times.empty() ? 16 : times.back() + 1;
  const query::AxisGrid grid{.from = 0,
                             .to = columns * (times.empty() ? 10 : 1),
                             .columns = static_cast<std::uint32_t>(columns)};
  const auto got =
      query::smooth(view, {.series = {{.series = SeriesId{1}}}, .grid = grid, .options = options});
  EXPECT_TRUE(got) << got.error().message;
  std::vector<double> values = got ? got->front().values : std::vector<double>{};
  std::erase_if(values, [](double v) { return std::isnan(v); });
  return values;
}

void expect_near(const std::vector<double>& got, const std::vector<double>& wanted,
                 double tolerance = 1e-12) {
  ASSERT_EQ(got.size(), wanted.size());
  for (std::size_t i = 0; i < got.size(); ++i)
    EXPECT_NEAR(got[i], wanted[i], tolerance * wanted[i]) << i;
}

TEST(Reference, PointEma) {
  expect_near(smoothed({.kind = query::Smoothing::kPointEma, .alpha = 0.8}),
              {13.159999999999998, 14.365555555555552, 9.43704918032787, 9.488861788617887,
               10.545245121370776, 11.497939110070257, 11.614874394648611, 12.305821144363541,
               11.974139336870135, 11.901513309148545, 11.603621976706856, 10.567710271004954,
               9.91001080635577, 10.167325463380449, 9.771949308972623, 10.602950038270668});
}

TEST(Reference, TimeEma) {
  expect_near(smoothed({.kind = query::Smoothing::kTimeEma, .alpha = 0.8, .unit = 1},
                       {1, 2, 6, 8, 17, 18, 19, 20, 23, 28, 30, 32, 39, 40, 41, 71}),
              {13.16, 14.365555555555556, 7.443496039786333, 8.459900902484407, 12.028487810494598,
               13.030832950789087, 12.622337505993647, 13.225368373622134, 12.314457414341158,
               11.954764633817076, 11.306464072489053, 9.417801586919946, 8.11487115379557,
               9.488623876292987, 9.043739968153245, 13.793760697627901});
}

TEST(Reference, Gaussian) {
  expect_near(smoothed({.kind = query::Smoothing::kGaussian, .width = 16}),
              {11.649629571923041, 10.649692719470629, 10.012304486063107, 10.297335354157626,
               11.328331659157833, 12.294999082825496, 12.668191807192073, 12.448186182067758,
               11.802595762924067, 10.880847938362457, 9.88195225011936, 9.161745394425404,
               9.043732129508584, 9.489030258309759, 10.195521974462478, 10.928763963549391});
}

TEST(Reference, RunningMean) {
  expect_near(smoothed({.kind = query::Smoothing::kRunningMean, .width = 50}),
              {10.276666666666667, 10.104999999999999, 10.692, 10.872, 10.198, 12.628, 12.884,
               12.606, 11.902, 10.866, 9.459999999999999, 9.514, 8.836, 9.49, 10.1675, 11.07});
}

GroupAnswer group(double confidence) {
  const std::vector<std::vector<double>> runs{{100.0, 102.4, 97.8}, {92.9, 96.4, 92.1},
                                              {100.5, 110.7, 96.1}, {95.0, 103.9, 102.9},
                                              {100.8, 92.6, 99.8},  {105.6, 89.2, 96.3}};
  std::vector<query::ResampledSeries> series(runs.size());
  GroupRequest request{
      .members = {}, .aggregation = metric::Aggregation::kSum, .repetitions = true};
  request.confidence = confidence;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    series[i].id = SeriesId{static_cast<std::int64_t>(i)};
    for (const double v : runs[i])
      series[i].cells.push_back({.count = 1, .sum = v, .min = v, .max = v});
    request.members.push_back({&series[i], std::to_string(i), "", 0, 0});
  }
  const auto got = aggregate_group(request);
  EXPECT_TRUE(got) << got.error().message;
  return got.value_or(GroupAnswer{});
}

TEST(Reference, GroupStatistics) {
  const GroupAnswer got = group(0.95);
  expect_near(got.mean, {99.13333333333333, 99.2, 97.5});
  expect_near(got.deviation, {4.542099367766697, 7.949591184457225, 3.663331816802844});
  expect_near(got.sum, {594.8, 595.2, 585.0});
  // scipy's quantiles of t have about ten digits.
  expect_near(got.interval, {4.766640958297688, 8.342584314747732, 3.8444309707810937}, 1e-9);
  expect_near(group(0.99).interval, {7.476820080721097, 13.085945107955226, 6.030267211807697},
              1e-9);
}

}  // namespace
}  // namespace corral::analyze
