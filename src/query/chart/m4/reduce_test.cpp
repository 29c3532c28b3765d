// Columns over every level of a view, against M4 straight from its definition over all points.
#include "query/chart/m4/reduce.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <random>

#include "codec/block/rate.h"
#include "query/series/extent.h"
#include "query/series/test_memory_view.h"

namespace corral::query::m4 {
namespace {

using testing::Arrived;
using testing::MemoryView;
using testing::Points;
constexpr SeriesId kSeries{7};
constexpr auto kBlock = static_cast<std::int64_t>(codec::kColumnEntries);

// ---- the oracle: every point looked at, in the order that the axis has
struct Sample {
  std::int64_t x;
  double value;
};
using Cells = std::map<std::uint32_t, std::vector<Sample>>;

std::uint32_t column_of(const Request& request, std::int64_t x) {
  __extension__ using Wide = __int128;
  return static_cast<std::uint32_t>((Wide{x} - request.from) * request.width /
                                    (Wide{request.to} - request.from));
}

void finish_segment(Cells& cells, ChartSeries& out) {
  const auto begin = static_cast<std::uint32_t>(out.columns.size());
  for (const auto& [index, all] : cells) {
    std::vector<Sample> in;
    std::ranges::copy_if(all, std::back_inserter(in),
                         [](const Sample& s) { return std::isfinite(s.value); });
    const auto bad = static_cast<std::uint32_t>(all.size() - in.size());
    out.points += all.size();
    out.nan += bad;
    if (bad > 0) out.not_finite.push_back({index, bad});
    if (in.empty()) continue;
    const auto point = [&](const Sample& s) { return ChartPoint{s.x - out.origin, s.value}; };
    out.columns.push_back({.index = index,
                           .points = static_cast<std::uint32_t>(in.size()),
                           .first = point(in.front()),
                           .min = point(*std::ranges::min_element(in, {}, &Sample::value)),
                           .max = point(*std::ranges::max_element(in, {}, &Sample::value)),
                           .last = point(in.back())});
  }
  if (out.columns.size() > begin) out.segments.push_back(begin);
  cells.clear();
}

ChartSeries plain(std::vector<Arrived> points, const Request& request) {
  ChartSeries out;
  out.origin = request.origin;
  Cells cells;
  const bool steps = request.axis == ChartAxis::kStep;
  if (!steps) std::ranges::stable_sort(points, {}, &Arrived::time);
  std::optional<std::int64_t> before;
  for (const Arrived& point : points) {
    if (steps && !point.step) continue;
    const std::int64_t x = steps ? *point.step : point.time;
    if (steps && before && x < *before) finish_segment(cells, out);
    before = x;
    if (x >= request.from && x < request.to)
      cells[column_of(request, x)].push_back({x, point.value});
  }
  finish_segment(cells, out);
  return out;
}

// Rates of each session in order of arrival, those that are none left out.
std::vector<Arrived> rates_of(const std::vector<Arrived>& points) {
  std::map<std::int64_t, codec::CounterRates> sessions;
  std::vector<Arrived> rates;
  for (Arrived point : points) {
    point.value = sessions[point.session].next(point.time, point.value);
    if (std::isfinite(point.value)) rates.push_back(point);
  }
  return rates;
}

void expect_same(const ChartSeries& got, const ChartSeries& wanted) {
  RC_ASSERT(got.points == wanted.points);
  RC_ASSERT(got.nan == wanted.nan);
  RC_ASSERT(got.segments == wanted.segments);
  RC_ASSERT(got.not_finite == wanted.not_finite);
  RC_ASSERT(got.columns.size() == wanted.columns.size());
  for (std::size_t i = 0; i < got.columns.size(); ++i) {
    const ChartColumn& g = got.columns[i];
    const ChartColumn& w = wanted.columns[i];
    RC_ASSERT(g.index == w.index);
    RC_ASSERT(g.points == w.points);
    RC_ASSERT(g.first == w.first);
    RC_ASSERT(g.last == w.last);
    RC_ASSERT(g.min.value == w.min.value);
    RC_ASSERT(g.max.value == w.max.value);
    // From buckets an estimate, but never out of the column.
    for (const std::int64_t x : {g.min.x, g.max.x}) RC_ASSERT(x >= w.first.x && x <= w.last.x);
  }
}

// ---- data of every kind
struct Shape {
  std::uint64_t seed;
  int sessions, lots;
  bool late, back_steps, not_finite, some_without_steps, equal_times, counter;
};

Shape any_shape() {
  const auto coin = [] { return *rc::gen::inRange(0, 3) == 0; };
  return {.seed = *rc::gen::arbitrary<std::uint64_t>(),
          .sessions = *rc::gen::inRange(1, 4),
          .lots = *rc::gen::inRange(1, 9),
          .late = coin(),
          .back_steps = coin(),
          .not_finite = coin(),
          .some_without_steps = coin(),
          .equal_times = coin(),
          .counter = false};
}

class Generator {
 public:
  explicit Generator(const Shape& shape) : shape_(shape), random_(shape.seed) {}

  void fill(MemoryView& view) {
    for (int lot = 0; lot < shape_.lots; ++lot) {
      const std::int64_t session = below(shape_.sessions);
      const auto n = below(2) == 0 ? below(100) : below(3 * kBlock);
      view.add(kSeries, session, points(session, n));
    }
    view.finish(shape_.counter);
  }
  std::int64_t below(std::int64_t n) {
    return std::uniform_int_distribution<std::int64_t>(0, n - 1)(random_);
  }

 private:
  Points points(std::int64_t session, std::int64_t n) {
    Points out;
    const bool with_steps = !(shape_.some_without_steps && session == 1);
    if (shape_.late && below(4) == 0) time_ -= below(3'000'000);
    if (shape_.back_steps && below(3) == 0) step_ -= below(5000);
    const bool hole = shape_.not_finite && below(2) == 0;
    for (std::int64_t i = 0; i < n; ++i) {
      time_ += shape_.equal_times ? below(2) : 90 + below(20);
      if (below(5000) == 0) time_ += below(1'000'000);
      step_ += below(3);
      if (shape_.back_steps && below(20'000) == 0) step_ -= below(100);
      out.times.push_back(time_);
      if (with_steps) out.steps.push_back(step_);
      out.values.push_back(value(hole));
    }
    return out;
  }
  double value(bool hole) {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    if (hole && below(hole_ ? 700 : 3000) == 0) hole_ = !hole_;
    if (hole && hole_) return below(3) == 0 ? kInfinity : std::nan("");
    if (!shape_.counter) return static_cast<double>(below(100'000) - 50'000) / 100;
    counter_ = below(3000) == 0 ? 0 : counter_ + static_cast<double>(below(1000));
    return counter_;
  }

  Shape shape_;
  std::mt19937_64 random_;
  std::int64_t time_ = 1'000'000'000, step_ = 0;
  double counter_ = 0;
  bool hole_ = false;
};

Request any_window(MemoryView& view, ChartAxis axis, Generator& random) {
  const auto extent =
      find_extent(view, kSeries, axis == ChartAxis::kStep ? GridAxis::kStep : GridAxis::kTime);
  const Extent all = extent->value_or(Extent{.first = 0, .last = 10});
  const std::int64_t length = all.last - all.first + 1;
  Request request{.series = kSeries, .axis = axis, .limits = {}};
  request.from = all.first;
  request.to = all.last + 1;
  if (random.below(3) > 0) {
    request.from = all.first - 5 + random.below(length + 5);
    request.to = request.from + 1 + random.below(random.below(2) == 0 ? length : 1 + length / 50);
  }
  request.width = static_cast<std::uint32_t>(1 + random.below(random.below(2) == 0 ? 30 : 1500));
  request.exact = true;
  request.limits.segments = 1U << 30U;
  return request;
}

void check_exact(const Shape& shape, ChartAxis axis, bool lose) {
  MemoryView view;
  Generator random(shape);
  random.fill(view);
  if (lose) view.lose_rows(kSeries, static_cast<int>(random.below(2)));
  for (int i = 0; i < 4; ++i) {
    Request request = any_window(view, axis, random);
    if (axis == ChartAxis::kRelative) request.origin = 1'000'000'000 + random.below(1000);
    const auto got = reduce(view, request);
    RC_ASSERT(got.has_value());
    RC_ASSERT(got->exact);
    expect_same(*got, plain(view.arrived(kSeries), request));
  }
}

TEST(Reduce, ExactIsM4OverAllPoints) {
  EXPECT_TRUE(rc::check("time", [] {
    check_exact(any_shape(), *rc::gen::element(ChartAxis::kTime, ChartAxis::kRelative), false);
  }));
  EXPECT_TRUE(rc::check("step", [] { check_exact(any_shape(), ChartAxis::kStep, false); }));
}

TEST(Reduce, ATierThatIsMissingChangesNothing) {
  EXPECT_TRUE(rc::check("tiers lost", [] {
    check_exact(any_shape(), *rc::gen::element(ChartAxis::kTime, ChartAxis::kStep), true);
  }));
}

TEST(Reduce, RatesAreThoseOfAllPoints) {
  EXPECT_TRUE(rc::check("rates", [] {
    Shape shape = any_shape();
    shape.counter = true;
    shape.late = false;  // late points that are in no block yet are put in order: tested below
    MemoryView view;
    Generator random(shape);
    random.fill(view);
    const std::vector<Arrived> rates = rates_of(view.arrived(kSeries));
    for (int i = 0; i < 4; ++i) {
      Request request =
          any_window(view, *rc::gen::element(ChartAxis::kTime, ChartAxis::kStep), random);
      request.rate = true;
      const auto got = reduce(view, request);
      RC_ASSERT(got.has_value());
      RC_ASSERT(got->rate);
      expect_same(*got, plain(rates, request));
    }
  }));
}

TEST(Reduce, AlignedCountsEverythingAndLosesNoSpike) {
  EXPECT_TRUE(rc::check("aligned", [] {
    MemoryView view;
    const Shape shape = any_shape();
    Generator random(shape);
    random.fill(view);
    for (int i = 0; i < 4; ++i) {
      Request request =
          any_window(view, *rc::gen::element(ChartAxis::kTime, ChartAxis::kStep), random);
      const ChartSeries exact = plain(view.arrived(kSeries), request);
      request.exact = false;
      const auto got = reduce(view, request);
      RC_ASSERT(got.has_value());
      RC_ASSERT(got->points == exact.points);
      RC_ASSERT(got->nan == exact.nan);
      RC_ASSERT(got->columns.empty() == exact.columns.empty());
      if (got->exact && !got->segments_folded) expect_same(*got, exact);
      if (exact.columns.empty()) continue;
      const auto least = [](const ChartSeries& s) {
        return std::ranges::min_element(s.columns, {}, [](auto& c) { return c.min.value; })
            ->min.value;
      };
      const auto greatest = [](const ChartSeries& s) {
        return std::ranges::max_element(s.columns, {}, [](auto& c) { return c.max.value; })
            ->max.value;
      };
      RC_ASSERT(least(*got) == least(exact));
      RC_ASSERT(greatest(*got) == greatest(exact));
    }
  }));
}

// ---- the picture
// Line segments between integer pixels, as every rasteriser of one pixel's width lights them.
class Image {
 public:
  Image(std::uint32_t width, int height)
      : height_(height), lit_(width * static_cast<std::size_t>(height)) {}
  void line(int x0, int y0, int x1, int y1) {
    const int dx = std::abs(x1 - x0);
    const int dy = -std::abs(y1 - y0);
    for (int error = dx + dy;;) {
      lit_[static_cast<std::size_t>(x0) * static_cast<std::size_t>(height_) +
           static_cast<std::size_t>(y0)] = true;
      if (x0 == x1 && y0 == y1) return;
      const int twice = 2 * error;
      if (twice >= dy) error += dy, x0 += x0 < x1 ? 1 : -1;
      if (twice <= dx) error += dx, y0 += y0 < y1 ? 1 : -1;
    }
  }
  bool operator==(const Image&) const = default;

 private:
  int height_;
  std::vector<bool> lit_;
};

class Pen {
 public:
  Pen(const Request& request, Image& image) : request_(request), image_(image) {}
  void to(std::uint32_t column, double value) {
    const int x = static_cast<int>(column);
    const int y = static_cast<int>((value + 500) * 199 / 1000);
    if (down_) {
      image_.line(x_, y_, x, y);
    } else {
      image_.line(x, y, x, y);
    }
    x_ = x;
    y_ = y;
    down_ = true;
  }
  void lift() { down_ = false; }

 private:
  const Request& request_;
  Image& image_;
  int x_ = 0, y_ = 0;
  bool down_ = false;
};

Image drawn(const std::vector<Arrived>& points, const Request& request) {
  Image image(request.width, 200);
  Pen pen(request, image);
  std::vector<Arrived> in_order = points;
  const bool steps = request.axis == ChartAxis::kStep;
  if (!steps) std::ranges::stable_sort(in_order, {}, &Arrived::time);
  std::optional<std::int64_t> before;
  for (const Arrived& point : in_order) {
    if (steps && !point.step) continue;
    const std::int64_t x = steps ? *point.step : point.time;
    if (steps && before && x < *before) pen.lift();
    before = x;
    if (x >= request.from && x < request.to && std::isfinite(point.value))
      pen.to(column_of(request, x), point.value);
  }
  return image;
}

Image drawn(const ChartSeries& series, const Request& request) {
  Image image(request.width, 200);
  Pen pen(request, image);
  for (std::size_t i = 0; i < series.columns.size(); ++i) {
    if (std::ranges::binary_search(series.segments, static_cast<std::uint32_t>(i))) pen.lift();
    const ChartColumn& column = series.columns[i];
    for (const ChartPoint& point : {column.first, column.min, column.max, column.last})
      pen.to(column.index, point.value);
  }
  return image;
}

TEST(Reduce, ExactLightsThePixelsOfAllPoints) {
  EXPECT_TRUE(rc::check("pixels", [] {
    MemoryView view;
    Generator random(any_shape());
    random.fill(view);
    const Request request =
        any_window(view, *rc::gen::element(ChartAxis::kTime, ChartAxis::kStep), random);
    const auto series = reduce(view, request);
    RC_ASSERT(series.has_value());
    RC_ASSERT(drawn(*series, request) == drawn(view.arrived(kSeries), request));
  }));
}

// ---- damage
// One session of `blocks` whole blocks: a point every 100 ns from 0 on, step = number of the point.
Points even_points(std::int64_t blocks, std::int64_t more = 0) {
  Points points;
  for (std::int64_t i = 0; i < blocks * kBlock + more; ++i) {
    points.times.push_back(100 * i);
    points.steps.push_back(i);
    points.values.push_back(static_cast<double>(i % 1000));
  }
  return points;
}
Request even_request(std::int64_t from, std::int64_t to, std::uint32_t width) {
  return {.series = kSeries, .exact = true, .from = from, .to = to, .width = width, .limits = {}};
}

TEST(Reduce, ADamagedBlockIsAMarkedGap) {
  MemoryView view;
  view.add(kSeries, 1, even_points(20));
  view.finish();
  view.damage_block(kSeries, 3);
  const std::int64_t end = 20 * kBlock * 100;
  Request request = even_request(0, end, 1500);
  const auto got = reduce(view, request);
  ASSERT_TRUE(got) << got.error().message;
  EXPECT_EQ(got->cost.damaged_blocks, 1U);
  EXPECT_FALSE(got->unknown_gap);
  ASSERT_FALSE(got->gaps.empty());
  for (const ChartGap& gap : got->gaps) {
    EXPECT_GE(gap.from, 3 * kBlock * 100);
    EXPECT_LT(gap.to, 4 * kBlock * 100);
  }
  // Every column is right, save for points that lie in a gap.
  std::vector<Arrived> left;
  for (const Arrived& point : view.arrived(kSeries)) {
    const auto inside = [&](const ChartGap& gap) {
      return point.time >= gap.from && point.time <= gap.to;
    };
    if (std::ranges::none_of(got->gaps, inside)) left.push_back(point);
  }
  EXPECT_LT(left.size(), static_cast<std::size_t>(20 * kBlock));
  const ChartSeries wanted = plain(left, request);
  EXPECT_EQ(got->points, wanted.points);
  ASSERT_EQ(got->columns.size(), wanted.columns.size());
  for (std::size_t i = 0; i < got->columns.size(); ++i) {
    EXPECT_EQ(got->columns[i].points, wanted.columns[i].points) << i;
    EXPECT_EQ(got->columns[i].max.value, wanted.columns[i].max.value) << i;
    EXPECT_EQ(got->columns[i].last, wanted.columns[i].last) << i;
  }
  request.axis = ChartAxis::kStep;
  request.to = 20 * kBlock;
  const auto steps = reduce(view, request);
  ASSERT_TRUE(steps);
  ASSERT_FALSE(steps->gaps.empty());
  EXPECT_GE(steps->gaps.front().from, 3 * kBlock);
  EXPECT_LT(steps->gaps.back().to, 4 * kBlock);
  EXPECT_EQ(steps->segments.size(), 1U);
}

TEST(Reduce, ADamagedRowIsReadFromBelow) {
  MemoryView view;
  view.add(kSeries, 1, even_points(40, 100));
  view.finish();
  for (const ChartAxis axis : {ChartAxis::kTime, ChartAxis::kStep}) {
    const std::int64_t unit = axis == ChartAxis::kTime ? 100 : 1;
    Request request = even_request(0, 40 * kBlock * unit, 20);
    request.axis = axis;
    const auto whole = reduce(view, request);
    MemoryView hurt;
    hurt.add(kSeries, 1, even_points(40, 100));
    hurt.finish();
    hurt.damage_row(kSeries, store::Channel::kValue, 1, 0);
    hurt.damage_row(kSeries, store::Channel::kValue, 0, 2);
    const auto got = reduce(hurt, request);
    ASSERT_TRUE(whole && got);
    EXPECT_EQ(got->cost.damaged_rows, 2U);
    EXPECT_EQ(got->cost.damaged_blocks, 0U);
    EXPECT_TRUE(got->gaps.empty());
    EXPECT_FALSE(got->unknown_gap);
    EXPECT_EQ(got->points, static_cast<std::uint64_t>(40 * kBlock));
    ASSERT_EQ(got->columns.size(), whole->columns.size());
    for (std::size_t i = 0; i < got->columns.size(); ++i) {
      EXPECT_EQ(got->columns[i].first, whole->columns[i].first);
      EXPECT_EQ(got->columns[i].max.value, whole->columns[i].max.value);
    }
  }
}

TEST(Reduce, ABlockThatNoBucketCoversLeavesAGapOfUnknownExtent) {
  MemoryView view;
  view.add(kSeries, 1, even_points(2));
  view.finish();
  view.damage_block(kSeries, 1);
  view.damage_row(kSeries, store::Channel::kValue, 0, 0);
  view.lose_time(kSeries, {.t0 = -5, .t1 = 10});
  const auto got = reduce(view, even_request(0, 2 * kBlock * 100, 50));
  ASSERT_TRUE(got);
  EXPECT_TRUE(got->unknown_gap);
  EXPECT_EQ(got->gaps, (std::vector<ChartGap>{{0, 10}}));
  EXPECT_EQ(got->points, static_cast<std::uint64_t>(kBlock));
}

// ---- bounds
TEST(Reduce, AnAlignedAnswerReadsLittle) {
  MemoryView view;
  view.add(kSeries, 1, even_points(400));  // 3.3 million points
  view.finish();
  Request request = even_request(1'234'500, 400 * kBlock * 100, 100);
  request.exact = false;
  view.blocks_read = view.rows_read = 0;
  const auto got = reduce(view, request);
  ASSERT_TRUE(got);
  EXPECT_FALSE(got->exact);
  EXPECT_LE(view.blocks_read, 1U) << "at the left edge";
  EXPECT_LE(view.rows_read, 60U);
  EXPECT_GE(got->cost.buckets, 400U);
  EXPECT_LE(got->cost.buckets, 100U * 32U);
  request.exact = true;
  view.blocks_read = 0;
  ASSERT_TRUE(reduce(view, request));
  EXPECT_LE(view.blocks_read, 110U) << "one block for each border";
}

TEST(Reduce, AnAlignedAnswerOfBlocksThatAllOverlapIsCoarserButBounded) {
  MemoryView view;
  Points points = even_points(1);
  for (std::int64_t session = 0; session < 300; ++session) {
    for (std::size_t i = 0; i < points.times.size(); ++i)
      points.times[i] = static_cast<std::int64_t>(i) * 1000 + session;
    view.add(kSeries, session, points);
  }
  view.finish();
  Request request = even_request(0, kBlock * 1000, 40);
  request.exact = false;
  request.limits.judged_per_column = 2;
  request.limits.points_per_column = 64;
  const auto got = reduce(view, request);
  ASSERT_TRUE(got);
  EXPECT_EQ(got->points, static_cast<std::uint64_t>(300 * kBlock));
  EXPECT_LE(got->cost.points, 5U * 64U * (40U + 256U) + 8192U);
  EXPECT_EQ(got->columns.front().min.value, 0);
}

TEST(Reduce, AnExactAnswerThatIsTooMuchIsGivenAligned) {
  MemoryView view;
  view.add(kSeries, 1, even_points(20));
  view.finish();
  Request request = even_request(0, 20 * kBlock * 100, 100);
  request.limits.exact_points = 10'000;
  const auto got = reduce(view, request);
  ASSERT_TRUE(got);
  EXPECT_FALSE(got->exact);
  EXPECT_EQ(got->points, static_cast<std::uint64_t>(20 * kBlock));
}

TEST(Reduce, TooManySegmentsAreFolded) {
  MemoryView view;
  Points points;
  for (std::int64_t i = 0; i < 3 * kBlock; ++i) {
    points.times.push_back(i);
    points.steps.push_back(i % 100 * 10);
    points.values.push_back(1);
  }
  view.add(kSeries, 1, points);
  view.finish();
  Request request = even_request(0, 1000, 50);
  request.axis = ChartAxis::kStep;
  request.limits.segments = 10;
  const auto got = reduce(view, request);
  ASSERT_TRUE(got);
  EXPECT_TRUE(got->segments_folded);
  EXPECT_FALSE(got->exact);
  EXPECT_EQ(got->segments.size(), 10U);
  EXPECT_EQ(got->columns.size(), 500U);
  EXPECT_EQ(got->points, static_cast<std::uint64_t>(3 * kBlock));
}

TEST(Reduce, LateSamplesInNoBlockArePutInOrderForTheirRates) {
  MemoryView view;
  view.add(kSeries, 1, {.times = {0, 2'000'000'000}, .steps = {}, .values = {0, 20}});
  // Steps and none: a chunk of its own.
  view.add(kSeries, 1, {.times = {1'000'000'000}, .steps = {5}, .values = {15}});
  view.finish();
  Request request = even_request(0, 3'000'000'000, 3);
  request.rate = true;
  const auto got = reduce(view, request);
  ASSERT_TRUE(got);
  ASSERT_EQ(got->columns.size(), 2U);
  EXPECT_EQ(got->columns[0].first, (ChartPoint{1'000'000'000, 15}));
  EXPECT_EQ(got->columns[1].first, (ChartPoint{2'000'000'000, 5}));
}

TEST(CounterRate, TellsAResetFromAWrap) {
  using codec::counter_difference;
  EXPECT_EQ(counter_difference(3, 10), 7);
  EXPECT_EQ(counter_difference(0x1p32 - 6, 10), 16);
  EXPECT_EQ(counter_difference(0x1p64 - 4096, 8192), 12288);
  EXPECT_EQ(counter_difference(0x1p32 - 0x1p27, 0x1p27), 0x1p28);
  EXPECT_TRUE(std::isnan(counter_difference(0x1p32 - 0x1p27, 0x1p27 + 1))) << "too much at once";
  EXPECT_TRUE(std::isnan(counter_difference(1e6, 3)));
  EXPECT_TRUE(std::isnan(counter_difference(0x1p33, 3)));
  EXPECT_TRUE(std::isnan(counter_difference(0x1p32 - 6.5, 10))) << "no integer counter";
  EXPECT_TRUE(std::isnan(codec::counter_rate({5, 1}, {5, 2}))) << "at one time";
  EXPECT_EQ(codec::counter_rate({0, 0x1p32 - 6}, {2'000'000'000, 10}), 8);
  codec::CounterRates rates;
  EXPECT_TRUE(std::isnan(rates.next(0, 5)));
  EXPECT_TRUE(std::isnan(rates.next(1'000'000'000, std::nan(""))));
  EXPECT_EQ(rates.next(2'000'000'000, 9), 2) << "values that are not finite are ignored";
}

}  // namespace
}  // namespace corral::query::m4
