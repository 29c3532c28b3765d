#include "analyze/history.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "query/series/test_store.h"

namespace corral::analyze {
namespace {

using query::testing::TestStore;

constexpr std::int64_t kMs = 1'000'000;
// The difference that test sessions have between their clock and UTC.
constexpr std::int64_t kUtcMs = 1'700'000'000'000;
constexpr std::size_t kAll = std::numeric_limits<std::size_t>::max();

struct Point {
  std::int64_t ms = 0;
  std::int64_t step = 0;
  double value = 0;
};

// One series in a store of its own; append() is one frame, points in the order given.
class Series {
 public:
  Series() : run_(RunId::random()) {
    codec::SeriesDef def;
    def.id = 1;
    def.name = "loss";
    writer_ = store_.begin(run_, {def});
    id_ = store_.series(run_, "loss");
  }
  void append(const std::vector<Point>& points) {
    codec::SampleGroup group;
    codec::Column column;
    column.series = 1;
    for (const Point& point : points) {
      group.times.push_back(boot_time(point.ms * kMs));
      group.steps.push_back(point.step);
      column.values.push_back(point.value);
    }
    group.columns.push_back(std::move(column));
    codec::SamplesBody body;
    body.groups.push_back(std::move(group));
    store_.append({writer_.frame(body)});
  }
  void append(std::int64_t count, const std::function<Point(std::int64_t)>& point) {
    std::vector<Point> points;
    for (std::int64_t i = 0; i < count; ++i) {
      points.push_back(point(i));
      if (points.size() == 5'000 || i + 1 == count) append(std::exchange(points, {}));
    }
  }
  void settle() { ASSERT_TRUE(store_->seal(true)); }

  HistoryPage page(const HistoryPlace& from, std::size_t most) {
    auto page = history_page(*store_, id_, from, most);
    EXPECT_TRUE(page);
    return *std::move(page);
  }
  std::vector<HistoryPoint> whole() { return page({}, kAll).points; }
  std::vector<HistoryPoint> paged(std::size_t most) {
    std::vector<HistoryPoint> all;
    std::optional<HistoryPlace> place = HistoryPlace();
    while (place) {
      const HistoryPage next = page(*place, most);
      EXPECT_LE(next.points.size(), most);
      EXPECT_TRUE(!next.next || next.points.size() == most);
      all.insert(all.end(), next.points.begin(), next.points.end());
      place = next.next;
    }
    return all;
  }
  std::vector<HistoryPoint> sample(SampleQuery query) {
    query.series = id_;
    auto points = sample_history(*store_, query);
    EXPECT_TRUE(points);
    return *std::move(points);
  }

 private:
  TestStore store_;
  RunId run_;
  store::testing::SessionWriter writer_;
  SeriesId id_;
};

using Key = std::tuple<std::int64_t, std::int64_t, double>;
std::vector<Key> keys(const std::vector<HistoryPoint>& points) {
  std::vector<Key> keys;
  for (const HistoryPoint& point : points)
    keys.emplace_back(point.time_ms - kUtcMs, point.step,
                      std::isnan(point.value) ? -1e99 : point.value);
  return keys;
}

bool has(const std::vector<HistoryPoint>& points, double value) {
  return std::ranges::any_of(points, [&](const auto& point) { return point.value == value; });
}

// ---- pages

TEST(HistoryPages, PutTogetherTheyAreTheWholeHistory) {
  Series series;
  // Times of several at once, late ones, and steps against the order of times.
  series.append(20'000, [](std::int64_t i) {
    return Point{.ms = 1000 + i / 3 - (i % 500 == 0 ? 400 : 0),
                 .step = 20'000 - i,
                 .value = 0.5 * static_cast<double>(i)};
  });
  series.settle();
  series.append(700, [](std::int64_t i) { return Point{.ms = 5000 + i, .step = i, .value = 7}; });
  const auto whole = keys(series.whole());
  EXPECT_EQ(whole.size(), 20'700U);
  EXPECT_TRUE(std::ranges::is_sorted(whole));
  for (const std::size_t most : {1'000U, 999U, 6'900U}) EXPECT_EQ(keys(series.paged(most)), whole);
}

TEST(HistoryPages, EndAnywhereInOneMillisecond) {
  Series series;
  series.append({{10, 1, 1},
                 {20, 3, 3},
                 {20, 2, 2},
                 {20, 2, 2},
                 {20, 4, 4},
                 {20, 5, std::nan("")},
                 {30, 6, 6}});
  const auto whole = keys(series.whole());
  EXPECT_EQ(whole.size(), 6U);
  for (const std::size_t most : {1U, 2U, 3U, 5U, 6U}) EXPECT_EQ(keys(series.paged(most)), whole);
}

TEST(HistoryPages, ThatEndsWithTheLastPointSaysSo) {
  Series series;
  series.append({{10, 1, 1}, {20, 2, 2}});
  EXPECT_TRUE(series.page({}, 1).next);
  EXPECT_FALSE(series.page({}, 2).next);
}

TEST(HistoryPages, PointsThatComeMeanwhileShiftNothing) {
  Series series;
  series.append({{10, 1, 1}, {20, 2, 2}, {30, 3, 3}});
  const HistoryPage first = series.page({}, 2);
  series.append({{5, 0, 0}, {40, 4, 4}});
  const HistoryPage rest = series.page(first.next.value(), 9);
  EXPECT_EQ(keys(rest.points), (std::vector<Key>{{30, 3, 3}, {40, 4, 4}}));
}

TEST(HistoryPages, SentTwiceIsThereOnce) {
  Series series;
  for (int i = 0; i < 2; ++i) series.append({{10, 1, 1}, {20, 2, std::nan("")}});
  EXPECT_EQ(series.whole().size(), 2U);
}

// ---- samples

// `count` points in blocks and chunks, one step and one ms each.
void fill(Series& series, std::int64_t count, const std::function<double(std::int64_t)>& value) {
  const auto point = [&](std::int64_t i) {
    return Point{.ms = 1000 + i, .step = i, .value = value(i)};
  };
  series.append(count * 9 / 10, point);
  series.settle();
  series.append(count - count * 9 / 10, [&](std::int64_t i) { return point(count * 9 / 10 + i); });
}

TEST(SampleHistory, KeepsSpikesAndBothEndsOfLongSeries) {
  Series series;
  fill(series, 100'000, [](std::int64_t i) {
    if (i == 43'210) return 99.0;
    if (i == 7'777) return -99.0;
    if (i == 97'531) return 1e300;
    return i % 11 == 0 ? std::nan("") : 1.0 + 1e-6 * static_cast<double>(i);
  });
  // With buckets of 256 points, and of 4,096.
  for (const std::size_t most : {320U, 16U}) {
    const auto kept = series.sample({.series = {}, .most = most});
    EXPECT_LE(kept.size(), most);
    EXPECT_GE(kept.size(), most / 2);
    EXPECT_EQ(kept.front().step, 0);
    EXPECT_EQ(kept.back().step, 99'999);
    for (const double spike : {99.0, -99.0, 1e300}) EXPECT_TRUE(has(kept, spike)) << spike;
    // Every entry is a logged point, with its own time and step.
    for (const HistoryPoint& point : kept) EXPECT_EQ(point.time_ms, kUtcMs + 1000 + point.step);
    EXPECT_TRUE(std::ranges::is_sorted(kept, {}, &HistoryPoint::step));
  }
}

TEST(SampleHistory, InfinitiesAreSpikes) {
  Series series;
  fill(series, 100'000,
       [](std::int64_t i) { return i == 50'001 ? std::numeric_limits<double>::infinity() : 1.0; });
  EXPECT_TRUE(
      has(series.sample({.series = {}, .most = 320}), std::numeric_limits<double>::infinity()));
}

TEST(SampleHistory, TakesStepsOfTheRangeAlone) {
  Series series;
  fill(series, 100'000, [](std::int64_t i) {
    return i == 10'000 ? 99.0 : i == 10'001 ? 50.0 : 1.0;
  });
  const auto kept =
      series.sample({.series = {}, .first_step = 10'001, .last_step = 94'999, .most = 80});
  EXPECT_LE(kept.size(), 80U);
  EXPECT_EQ(kept.front().step, 10'001);
  EXPECT_EQ(kept.back().step, 94'999);
  EXPECT_TRUE(has(kept, 50));
  EXPECT_FALSE(has(kept, 99));
  const auto few =
      series.sample({.series = {}, .first_step = 89'998, .last_step = 90'003, .most = 80});
  ASSERT_EQ(few.size(), 6U);
  EXPECT_EQ(few[2].step, 90'000);
  EXPECT_TRUE(series.sample({.series = {}, .first_step = 200'000, .last_step = 300'000, .most = 80})
                  .empty());
}

TEST(SampleHistory, OfARunThatBeganAgainIsByStep) {
  Series series;
  fill(series, 30'000, [](std::int64_t) { return 1.0; });
  series.append(30'000, [](std::int64_t i) {
    return Point{.ms = 100'000 + i, .step = i + 10'000, .value = i == 5 ? 9.0 : 2.0};
  });
  const auto kept = series.sample({.series = {}, .most = 100});
  EXPECT_LE(kept.size(), 100U);
  EXPECT_EQ(kept.front().step, 0);
  EXPECT_EQ(kept.back().step, 39'999);
  EXPECT_TRUE(has(kept, 9));
  EXPECT_TRUE(std::ranges::is_sorted(kept, {}, &HistoryPoint::step));
}

TEST(SampleHistory, FewPointsAreAllThereByStepAndOnce) {
  Series series;
  series.append({{1, 5, 1}, {2, 3, 2}, {2, 3, 2}});
  EXPECT_EQ(keys(series.sample({.series = {}, .most = 320})),
            (std::vector<Key>{{2, 3, 2}, {1, 5, 1}}));
}

TEST(ThinOut, KeepsSpikesAndBothEnds) {
  std::vector<HistoryPoint> points;
  for (int i = 0; i < 10'000; ++i)
    points.push_back({.time_ms = i, .step = i, .value = i == 4321 ? 99.0 : i == 777 ? -99.0 : 1.0});
  const auto kept = thin_out(points, 320);
  EXPECT_LE(kept.size(), 320U);
  EXPECT_EQ(kept.front().step, 0);
  EXPECT_EQ(kept.back().step, 9'999);
  EXPECT_TRUE(has(kept, 99));
  EXPECT_TRUE(has(kept, -99));
}

TEST(ThinOut, ManyPointsOnOneStepAreThinnedToo) {
  std::vector<HistoryPoint> points;
  for (int i = 0; i < 5'000; ++i)
    points.push_back({.time_ms = i, .step = 0, .value = i == 2500 ? 9.0 : std::nan("")});
  const auto kept = thin_out(points, 100);
  EXPECT_LE(kept.size(), 100U);
  EXPECT_TRUE(has(kept, 9));
}

TEST(ThinOut, TakesAnySteps) {
  constexpr auto kLimits = std::numeric_limits<std::int64_t>();
  std::vector<HistoryPoint> points;
  for (const std::int64_t step : {kLimits.min(), std::int64_t{0}, kLimits.max()})
    for (int i = 0; i < 4; ++i) points.push_back({.time_ms = i, .step = step, .value = 1});
  EXPECT_LE(thin_out(points, 8).size(), 8U);
  EXPECT_EQ(thin_out(points, 8).back().step, kLimits.max());
}

}  // namespace
}  // namespace corral::analyze
