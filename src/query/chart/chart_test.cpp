#include "query/chart/chart.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>

#include "query/series/test_store.h"

namespace corral::query {
namespace {

using store::testing::kUtcMinusBoot;
using store::testing::samples;
using store::testing::series_def;
using store::testing::SessionWriter;
using testing::TestStore;
using Points = std::vector<std::pair<std::int64_t, double>>;  // boot time, value
constexpr auto kLeast = std::numeric_limits<std::int64_t>::min();
constexpr auto kGreatest = std::numeric_limits<std::int64_t>::max();

codec::SeriesDef counter_def(std::uint32_t id, std::string name) {
  auto def = series_def(id, std::move(name));
  def.kind = metric::Kind::kCounter;
  return def;
}

ChartRequest request_of(SeriesId series, std::int64_t from, std::int64_t to, std::uint32_t width,
                        ChartMode mode = ChartMode::kAuto) {
  return {.series = {series},
          .from = from + kUtcMinusBoot,
          .to = to + kUtcMinusBoot,
          .width = width,
          .mode = mode};
}

ChartSeries one(TestStore& store, const ChartRequest& request) {
  const auto chart = make_chart(*store, request);
  EXPECT_TRUE(chart) << chart.error().message;
  return chart ? chart->series.at(0) : ChartSeries{};
}

// ---- the oracle: columns straight from their definition, over points in order of arrival
ChartSeries naive(Points points, std::int64_t from, std::int64_t to, std::uint32_t width) {
  std::ranges::stable_sort(points, {}, &std::pair<std::int64_t, double>::first);
  ChartSeries series;
  for (std::uint32_t index = 0; index < width; ++index) {
    Points in;
    for (const auto& point : points) {
      const std::int64_t scaled = (point.first - from) * width;
      if (point.first < from || point.first >= to || scaled < index * (to - from) ||
          scaled >= (index + 1) * (to - from))
        continue;
      ++series.points;
      if (std::isfinite(point.second)) {
        in.push_back(point);
      } else {
        ++series.nan;
      }
    }
    if (in.empty()) continue;
    const auto chart_point = [](const auto& point) {
      return ChartPoint{.x = point.first + kUtcMinusBoot, .value = point.second};
    };
    const auto value = &std::pair<std::int64_t, double>::second;
    series.columns.push_back({.index = index,
                              .points = static_cast<std::uint32_t>(in.size()),
                              .first = chart_point(in.front()),
                              .min = chart_point(*std::ranges::min_element(in, {}, value)),
                              .max = chart_point(*std::ranges::max_element(in, {}, value)),
                              .last = chart_point(in.back())});
  }
  return series;
}

Points naive_rates(Points samples_of_session) {
  std::ranges::stable_sort(samples_of_session, {}, &std::pair<std::int64_t, double>::first);
  Points rates;
  Points finite;
  std::ranges::copy_if(samples_of_session, std::back_inserter(finite),
                       [](const auto& sample) { return std::isfinite(sample.second); });
  for (std::size_t i = 1; i < finite.size(); ++i) {
    const auto& [t0, v0] = finite[i - 1];
    const auto& [t1, v1] = finite[i];
    if (t1 > t0 && v1 >= v0)
      rates.emplace_back(t1, (v1 - v0) / (static_cast<double>(t1 - t0) * 1e-9));
  }
  return rates;
}

void expect_same(const ChartSeries& got, const ChartSeries& wanted) {
  RC_ASSERT(got.points == wanted.points);
  RC_ASSERT(got.nan == wanted.nan);
  RC_ASSERT(got.columns.size() == wanted.columns.size());
  for (std::size_t i = 0; i < got.columns.size(); ++i)
    RC_ASSERT(got.columns[i] == wanted.columns[i]);
}

double any_value() {
  const int kind = *rc::gen::inRange(0, 12);
  if (kind == 0) return std::numeric_limits<double>::quiet_NaN();
  if (kind == 1) return -std::numeric_limits<double>::infinity();
  return *rc::gen::inRange(-5, 6);
}

struct Window {
  std::int64_t from, to;
  std::uint32_t width;
};
Window any_window() {
  const auto from = *rc::gen::inRange<std::int64_t>(0, 300);
  return {.from = from,
          .to = from + *rc::gen::inRange<std::int64_t>(1, 300),
          .width = *rc::gen::inRange<std::uint32_t>(1, 40)};
}

TEST(Chart, ColumnsAreWhatTheirDefinitionSays) {
  TestStore store;
  EXPECT_TRUE(rc::check("M4 against a naive oracle", [&] {
    const RunId run = RunId::random();
    std::vector<SessionWriter> sessions;
    for (int i = *rc::gen::inRange(1, 4); i > 0; --i)
      sessions.push_back(store.begin(run, {series_def(1, "other"), series_def(2, "x")}));
    Points all;
    for (int batch = *rc::gen::inRange(0, 8); batch > 0; --batch) {
      Points points;
      const auto at = *rc::gen::inRange<std::int64_t>(0, 170);
      const auto session = *rc::gen::inRange<std::size_t>(0, sessions.size());
      // Times of two sessions never meet: which of two equal ones came first is not kept.
      for (int i = *rc::gen::inRange(1, 20); i > 0; --i) {
        points.emplace_back(
            3 * (at + *rc::gen::inRange<std::int64_t>(0, 20)) + static_cast<std::int64_t>(session),
            any_value());
      }
      store.append({sessions[session].frame(samples(2, points))});
      all.insert(all.end(), points.begin(), points.end());
    }
    const Window w = any_window();
    const auto chart =
        make_chart(*store, request_of(store.series(run, "x"), w.from, w.to, w.width));
    RC_ASSERT(chart.has_value());
    expect_same(chart->series.at(0), naive(all, w.from, w.to, w.width));
  }));
}

TEST(Chart, RatesAreDifferencesWithinASession) {
  TestStore store;
  EXPECT_TRUE(rc::check("rates against a naive oracle", [&] {
    const RunId run = RunId::random();
    constexpr std::int64_t kSessions = 2;
    std::vector<SessionWriter> sessions;
    for (std::int64_t i = 0; i < kSessions; ++i)
      sessions.push_back(store.begin(run, {counter_def(1, "x")}));
    std::map<std::int64_t, Points> logged;
    const bool disordered = *rc::gen::inRange(0, 3) == 0;
    std::int64_t at = 0;
    double value = 0;
    for (int batch = *rc::gen::inRange(0, 8); batch > 0; --batch) {
      const auto s = *rc::gen::inRange<std::int64_t>(0, kSessions);
      Points points;
      for (int i = *rc::gen::inRange(1, 12); i > 0; --i) {
        at += *rc::gen::inRange<std::int64_t>(disordered ? -20 : 0, 30);
        at = std::max<std::int64_t>(at, 0);
        value = *rc::gen::inRange(0, 8) == 0 ? 0 : value + *rc::gen::inRange(0, 5);
        // Times of the two sessions never meet: which of two equal ones is first is not laid down.
        points.emplace_back(2 * at + s, *rc::gen::inRange(0, 15) == 0
                                            ? std::numeric_limits<double>::quiet_NaN()
                                            : value);
      }
      store.append({sessions[static_cast<std::size_t>(s)].frame(samples(1, points))});
      logged[s].insert(logged[s].end(), points.begin(), points.end());
    }
    Points all;
    for (const auto& [s, points] : logged) {
      const Points rates = naive_rates(points);
      all.insert(all.end(), rates.begin(), rates.end());
    }
    const Window w = any_window();
    const auto chart =
        make_chart(*store, request_of(store.series(run, "x"), w.from, w.to, w.width));
    RC_ASSERT(chart.has_value());
    RC_ASSERT(chart->series.at(0).rate);
    expect_same(chart->series.at(0), naive(all, w.from, w.to, w.width));
  }));
}

TEST(Chart, ColumnsThatTheClientKeepsAreCountedAndLeftOut) {
  TestStore store;
  const RunId run = RunId::random();
  SessionWriter writer = store.begin(run, {series_def(1, "x")});
  const double nan = std::numeric_limits<double>::quiet_NaN();
  store.append({writer.frame(samples(1, {{5, 1}, {15, 2}, {16, nan}, {25, 3}, {27, 4}}))});
  const SeriesId x = store.series(run, "x");
  ChartRequest request = request_of(x, 0, 40, 4);
  const ChartSeries whole = make_chart(*store, request)->series.at(0);
  request.series = {x, x, x};
  request.since = {0, 2, 3};
  const auto chart = make_chart(*store, request);
  ASSERT_TRUE(chart);
  EXPECT_EQ(chart->series[0].columns, whole.columns);
  EXPECT_EQ(chart->series[1].columns, (std::vector<ChartColumn>{whole.columns.at(2)}));
  EXPECT_EQ(chart->series[1].points, 5U);
  EXPECT_TRUE(chart->series[1].not_finite.empty());
  EXPECT_TRUE(chart->series[2].columns.empty());
  EXPECT_TRUE(chart->series[2].segments.empty());
  request.since = {0};
  EXPECT_FALSE(make_chart(*store, request));
}

TEST(Chart, ManySeriesAtOnceKeepTheOrderOfTheRequest) {
  TestStore store;
  const RunId run = RunId::random();
  SessionWriter writer = store.begin(run, {series_def(1, "a"), counter_def(2, "b")});
  codec::SamplesBody body;
  codec::SampleGroup group;
  group.times = {boot_time(0), boot_time(1'000'000'000), boot_time(2'000'000'000)};
  group.columns = {{.series = 1, .present = {true, false, true}, .values = {5, 7}},
                   {.series = 2, .present = {}, .values = {10, 12, 18}}};
  body.groups = {group};
  store.append({writer.frame(body)});
  const SeriesId a = store.series(run, "a");
  const SeriesId b = store.series(run, "b");
  const auto chart = make_chart(
      *store, {.series = {b, a, b}, .from = {}, .to = {}, .width = 3, .mode = ChartMode::kAuto});
  ASSERT_TRUE(chart);
  EXPECT_EQ(chart->from, kUtcMinusBoot);
  EXPECT_EQ(chart->to, kUtcMinusBoot + 2'000'000'001) << "half open, and the last point is inside";
  ASSERT_EQ(chart->series.size(), 3U);
  EXPECT_EQ(chart->series[0].id, b);
  EXPECT_EQ(chart->series[0].columns, chart->series[2].columns);
  EXPECT_EQ(chart->series[0].points, 2U);
  EXPECT_DOUBLE_EQ(chart->series[0].columns.at(0).first.value, 2.0);
  EXPECT_DOUBLE_EQ(chart->series[0].columns.at(1).first.value, 6.0);
  EXPECT_FALSE(chart->series[1].rate);
  EXPECT_EQ(chart->series[1].points, 2U) << "a missing value is not a point";
  const auto values = make_chart(
      *store, {.series = {b}, .from = {}, .to = {}, .width = 3, .mode = ChartMode::kValue});
  EXPECT_EQ(values->series.at(0).points, 3U);
}

TEST(Chart, ARateLooksBackBeyondTheLeftEdge) {
  TestStore store;
  const RunId run = RunId::random();
  SessionWriter writer = store.begin(run, {counter_def(1, "x")});
  const std::int64_t second = 1'000'000'000;
  for (std::int64_t i = 0; i < 20; ++i)
    store.append({writer.frame(samples(1, {{i * second, static_cast<double>(3 * i)}}))});
  const ChartSeries series =
      one(store, request_of(store.series(run, "x"), 10 * second, 12 * second, 2));
  EXPECT_EQ(series.points, 2U);
  ASSERT_EQ(series.columns.size(), 2U);
  EXPECT_DOUBLE_EQ(series.columns[0].first.value, 3.0);
}

TEST(Chart, ARelativeAxisBeginsAtEachSeriesOrigin) {
  TestStore store;
  const RunId run = RunId::random();
  SessionWriter writer = store.begin(run, {series_def(1, "a"), series_def(2, "b")});
  store.append({writer.frame(samples(1, {{100, 1}, {110, 2}}))});
  store.append({writer.frame(samples(2, {{205, 3}, {220, 4}}))});
  const ChartRequest request{.series = {store.series(run, "a"), store.series(run, "b")},
                             .from = {},
                             .to = {},
                             .width = 3,
                             .axis = ChartAxis::kRelative,
                             .origins = {kUtcMinusBoot + 100, kUtcMinusBoot + 200}};
  const auto chart = make_chart(*store, request);
  ASSERT_TRUE(chart) << chart.error().message;
  EXPECT_EQ(chart->from, 0);
  EXPECT_EQ(chart->to, 21);
  EXPECT_EQ(chart->series[0].columns.at(0).first, (ChartPoint{0, 1}));
  EXPECT_EQ(chart->series[0].columns.at(1).first, (ChartPoint{10, 2}));
  EXPECT_EQ(chart->series[1].columns.at(0).first, (ChartPoint{5, 3}));
  EXPECT_EQ(chart->series[1].columns.at(1).first, (ChartPoint{20, 4}));
  EXPECT_EQ(chart->series[1].columns.at(1).index, 2U);
}

TEST(Chart, AStepAxisSplitsWhereStepsGoBack) {
  TestStore store;
  const RunId run = RunId::random();
  SessionWriter writer = store.begin(run, {series_def(1, "a")});
  codec::SamplesBody body;
  codec::SampleGroup group;
  for (std::int64_t i = 0; i < 6; ++i) {
    group.times.push_back(boot_time(1000 + i));
    group.steps.push_back(i < 4 ? i : i - 2);
  }
  group.columns = {{.series = 1, .present = {}, .values = {0, 1, 2, 3, 12, 13}}};
  body.groups = {group};
  store.append({writer.frame(body)});
  const auto chart = make_chart(*store, {.series = {store.series(run, "a")},
                                         .from = {},
                                         .to = {},
                                         .width = 2,
                                         .axis = ChartAxis::kStep});
  ASSERT_TRUE(chart) << chart.error().message;
  EXPECT_EQ(chart->from, 0);
  EXPECT_EQ(chart->to, 4);
  const ChartSeries& series = chart->series.at(0);
  EXPECT_EQ(series.segments, (std::vector<std::uint32_t>{0, 2}));
  ASSERT_EQ(series.columns.size(), 3U);
  EXPECT_EQ(series.columns[1].last, (ChartPoint{3, 3}));
  EXPECT_EQ(series.columns[2].first, (ChartPoint{2, 12}));
}

TEST(Chart, SaysWhatIsWrongWithARequest) {
  TestStore store;
  const RunId run = RunId::random();
  store.begin(run, {series_def(1, "x")});
  const SeriesId x = store.series(run, "x");
  const auto error = [&](const ChartRequest& request) {
    const auto chart = make_chart(*store, request);
    EXPECT_FALSE(chart);
    return chart ? Error{} : chart.error();
  };
  EXPECT_EQ(error(request_of(x, 0, 10, 0)).message, "width must be between 1 and 8192, got 0");
  EXPECT_EQ(error(request_of(x, 10, 10, 5)).code, Code::kInvalidArgument);
  EXPECT_EQ(error(request_of(SeriesId{4711}, 0, 10, 5)).code, Code::kNotFound);
  EXPECT_EQ(error({.series = {}, .from = {}, .to = {}, .width = 5, .mode = {}}).code,
            Code::kInvalidArgument);
  EXPECT_EQ(error({.series = {x}, .from = {}, .to = {}, .width = 5, .axis = ChartAxis::kRelative})
                .message,
            "origins must be 1 in number, got 0");
  EXPECT_EQ(error({.series = {x},
                   .from = 1,
                   .to = 2,
                   .width = 5,
                   .axis = ChartAxis::kRelative,
                   .origins = {kGreatest}})
                .code,
            Code::kInvalidArgument);
  EXPECT_EQ(
      error({.series = std::vector(257, x), .from = {}, .to = {}, .width = 5, .mode = {}}).code,
      Code::kInvalidArgument);
  EXPECT_TRUE(
      one(store, {.series = {x}, .from = {}, .to = {}, .width = 5, .mode = {}}).columns.empty())
      << "no points yet";
  EXPECT_TRUE(one(store, {.series = {x}, .from = kGreatest, .to = {}, .width = 5, .mode = {}})
                  .columns.empty());
  EXPECT_TRUE(one(store, {.series = {x}, .from = {}, .to = kLeast, .width = 5, .mode = {}})
                  .columns.empty());
  EXPECT_TRUE(
      one(store,
          {.series = {x}, .from = kLeast, .to = kGreatest, .width = 5, .mode = ChartMode::kRate})
          .columns.empty());
}

template <class T>
T read_at(const std::string& bytes, std::size_t at) {
  T value{};
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

TEST(Chart, TheBinaryFormIsAsDocumented) {
  ChartSeries empty;
  empty.id = SeriesId{9};
  ChartSeries series;
  series.id = SeriesId{17};
  series.rate = true;
  series.exact = false;
  series.origin = 77;
  series.points = 7;
  series.nan = 1;
  series.segments_folded = true;
  series.columns = {{.index = 1,
                     .points = 4,
                     .first = {1'250, 1.5},
                     .min = {1'300, -2},
                     .max = {1'350, 8},
                     .last = {1'450, 3}},
                    {.index = 3,
                     .points = 2,
                     .first = {1'750, 5},
                     .min = {1'750, 5},
                     .max = {1'800, 6},
                     .last = {1'800, 6}}};
  series.segments = {0, 1};
  series.not_finite = {{2, 1}};
  series.gaps = {{1'500, 1'600}, {1'700, 1'710}};
  series.cost = {.buckets = 11, .points = 12, .damaged_blocks = 13};
  const Chart chart{.axis = ChartAxis::kRelative,
                    .from = 1'000,
                    .to = 2'000,
                    .width = 4,
                    .series = {empty, series}};
  const std::string bytes = encode_chart(chart);
  EXPECT_EQ(bytes.substr(0, 4), "CRCH");
  EXPECT_EQ(read_at<std::uint16_t>(bytes, 4), 2);
  EXPECT_EQ(read_at<std::uint16_t>(bytes, 6), 2);
  EXPECT_EQ(read_at<std::uint32_t>(bytes, 8), 4U);
  EXPECT_EQ(read_at<std::uint32_t>(bytes, 12), 1U);
  EXPECT_EQ(read_at<std::int64_t>(bytes, 16), 1'000);
  EXPECT_EQ(read_at<std::int64_t>(bytes, 24), 2'000);
  EXPECT_EQ(read_at<std::int64_t>(bytes, 32), 9);
  EXPECT_EQ(read_at<std::uint32_t>(bytes, 32 + 24), 0U);
  EXPECT_EQ(read_at<std::uint8_t>(bytes, 32 + 28), 1);
  const std::size_t at = 104;
  EXPECT_EQ(read_at<std::int64_t>(bytes, at), 17);
  EXPECT_EQ(read_at<std::uint64_t>(bytes, at + 8), 7U);
  EXPECT_EQ(read_at<std::uint64_t>(bytes, at + 16), 1U);
  EXPECT_EQ(read_at<std::uint32_t>(bytes, at + 24), 2U);
  EXPECT_EQ(read_at<std::uint8_t>(bytes, at + 28), 0);
  EXPECT_EQ(read_at<std::uint8_t>(bytes, at + 29), 1);
  EXPECT_EQ(read_at<std::uint16_t>(bytes, at + 30), 1);
  EXPECT_EQ(read_at<std::int64_t>(bytes, at + 32), 77);
  EXPECT_EQ(read_at<std::uint64_t>(bytes, at + 40), 11U);
  EXPECT_EQ(read_at<std::uint64_t>(bytes, at + 48), 12U);
  EXPECT_EQ(read_at<std::uint32_t>(bytes, at + 56), 13U);
  EXPECT_EQ(read_at<std::uint32_t>(bytes, at + 60), 2U);
  EXPECT_EQ(read_at<std::uint32_t>(bytes, at + 64), 1U);
  EXPECT_EQ(read_at<std::uint32_t>(bytes, at + 68), 2U);
  const double values[] = {1.5, 5, -2, 5, 8, 6, 3, 6};
  for (std::size_t i = 0; i < 8; ++i) EXPECT_EQ(read_at<double>(bytes, at + 72 + 8 * i), values[i]);
  const std::int64_t gaps[] = {1'500, 1'700, 1'600, 1'710};
  for (std::size_t i = 0; i < 4; ++i)
    EXPECT_EQ(read_at<std::int64_t>(bytes, at + 136 + 8 * i), gaps[i]);
  const float xs[] = {1.0F, 3.0F, 1.2F, 3.0F, 1.4F, 3.2F, 1.8F, 3.2F};
  for (std::size_t i = 0; i < 8; ++i)
    EXPECT_FLOAT_EQ(read_at<float>(bytes, at + 168 + 4 * i), xs[i]);
  const std::uint32_t counts[] = {4, 2, 0,
                                  1, 2, 1};  // points, segments, not finite: where and how many
  for (std::size_t i = 0; i < 6; ++i)
    EXPECT_EQ(read_at<std::uint32_t>(bytes, at + 200 + 4 * i), counts[i]);
  EXPECT_EQ(bytes.size(), at + 224);
  series.not_finite.clear();
  series.segments.pop_back();
  EXPECT_EQ(encode_chart({.from = 0, .to = 1, .width = 1, .series = {series}}).size() % 8, 0U);
}

}  // namespace
}  // namespace corral::query
