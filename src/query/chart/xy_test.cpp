#include "query/chart/xy.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <set>

#include "query/series/test_memory_view.h"
#include "query/series/test_store.h"

namespace corral::query {
namespace {

using testing::MemoryView;
using testing::Points;
using testing::TestStore;

constexpr SeriesId kX{1}, kY{2};
constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

// ---- pairs
Pairs pairs(const Points& x, const Points& y, PairBy by, std::uint64_t most = 1 << 20) {
  MemoryView view;
  view.add(kX, 1, x);
  view.add(kY, 1, y);
  view.finish();
  const auto got =
      pair_up(view, {.x = {.series = kX}, .y = {.series = kY}, .by = by, .most = most});
  EXPECT_TRUE(got) << got.error().message;
  return got.value_or(Pairs{});
}

TEST(Pairs, BySteps) {
  const auto got =
      pairs({{1, 2, 3, 5}, {0, 10, 20, 40}, {5, 6, 7, 9}},
            {{11, 12, 13, 14, 15}, {0, 10, 15, 20, 40}, {1, 2, 3, 4, kNone}}, PairBy::kStep);
  EXPECT_EQ(got.path,
            (std::vector<PathPoint>{{5, 1, 11, true}, {6, 2, 12, false}, {7, 4, 14, false}}));
  EXPECT_EQ(got.unpaired, 1U);
  EXPECT_EQ(got.not_finite, 1U);
  EXPECT_TRUE(got.exact);
}

TEST(Pairs, AStepThatCameTwiceIsPairedInItsOwnTime) {
  // A training that resumed at step 1.
  const auto got = pairs({{1, 2, 3, 101, 102}, {0, 1, 2, 1, 2}, {10, 11, 12, 21, 22}},
                         {{1, 2, 3, 101, 102}, {0, 1, 2, 1, 2}, {0, 1, 2, 3, 4}}, PairBy::kStep);
  EXPECT_EQ(got.path, (std::vector<PathPoint>{{10, 0, 1, true},
                                              {11, 1, 2, false},
                                              {12, 2, 3, false},
                                              {21, 3, 101, true},
                                              {22, 4, 102, false}}));
}

TEST(Pairs, ByTimeWithTheLastOneBefore) {
  const auto got = pairs({{10, 20, 30, 40}, {}, {1, 2, 3, 4}},
                         {{9, 10, 25, 140, 141, 45}, {}, {5, 6, 7, 8, 9, 10}}, PairBy::kTime);
  // Up to ten spacings of 10 back; points in between are cut out.
  EXPECT_EQ(got.path,
            (std::vector<PathPoint>{
                {1, 6, 10, true}, {2, 7, 25, false}, {4, 10, 45, false}, {4, 8, 140, false}}));
  EXPECT_EQ(got.unpaired, 2U);
}

TEST(Pairs, ManyAreMeansOfColumns) {
  Points x, y;
  for (int i = 0; i < 200'000; ++i) {
    x.times.push_back(i * 10);
    x.steps.push_back(i);
    x.values.push_back(i);
    y.times.push_back(i * 10 + 5);
    y.steps.push_back(i);
    y.values.push_back(2.0 * i);
  }
  for (const PairBy by : {PairBy::kStep, PairBy::kTime}) {
    const auto got = pairs(x, y, by, 10'000);
    EXPECT_FALSE(got.exact);
    EXPECT_GT(got.path.size(), 500U);
    EXPECT_LE(got.path.size(), kMaxGridColumns);
    for (const PathPoint& p : got.path) EXPECT_NEAR(p.y, 2 * p.x, 600);
    EXPECT_TRUE(pairs(x, y, by).exact);
  }
}

// ---- reduction, against a rasteriser of integer cells
using Pixels = std::set<std::pair<std::int64_t, std::int64_t>>;

void light(std::int64_t x0, std::int64_t y0, std::int64_t x1, std::int64_t y1,
           const PixelPlane& plane, Pixels& out) {
  // Bresenham's line.
  const std::int64_t dx = std::abs(x1 - x0), dy = -std::abs(y1 - y0);
  const std::int64_t sx = x0 < x1 ? 1 : -1, sy = y0 < y1 ? 1 : -1;
  std::int64_t error = dx + dy;
  for (;;) {
    if (x0 >= 0 && x0 < plane.x.cells && y0 >= 0 && y0 < plane.y.cells) out.emplace(x0, y0);
    if (x0 == x1 && y0 == y1) return;
    const std::int64_t twice = 2 * error;
    if (twice >= dy) error += dy, x0 += sx;
    if (twice <= dx) error += dx, y0 += sy;
  }
}

Pixels picture(const std::vector<PathPoint>& path, const PixelPlane& plane) {
  Pixels out;
  for (std::size_t i = 0; i < path.size(); ++i) {
    const PathPoint& from = i > 0 && !path[i].starts ? path[i - 1] : path[i];
    light(plane.x.cell(from.x), plane.y.cell(from.y), plane.x.cell(path[i].x),
          plane.y.cell(path[i].y), plane, out);
  }
  return out;
}

RC_GTEST_PROP(ReducePath, ThePictureIsTheSame, ()) {
  const PixelPlane plane{
      .x = {.low = 0, .high = 100, .cells = static_cast<std::uint32_t>(*rc::gen::inRange(1, 40))},
      .y = {.low = -50, .high = 50, .cells = static_cast<std::uint32_t>(*rc::gen::inRange(1, 40))}};
  std::vector<PathPoint> path;
  double x = 50, y = 0;
  const int wild = *rc::gen::element(1, 5, 60);
  for (int i = *rc::gen::inRange(0, 300); i > 0; --i) {
    x = std::clamp(x + *rc::gen::inRange(-wild, wild + 1) / 2.0, 0.0, 100.0);
    y += *rc::gen::inRange(-wild, wild + 1) / 2.0;
    path.push_back({.x = x, .y = y, .time = i, .starts = *rc::gen::inRange(0, 20) == 0});
  }
  const auto reduced = reduce_path(path, plane);
  RC_ASSERT(reduced.size() <= path.size());
  RC_ASSERT(picture(reduced, plane) == picture(path, plane));
}

TEST(ReducePath, WhatRunsOneWayKeepsFourPointsAColumn) {
  const PixelPlane plane{.x = {.low = 0, .high = 1, .cells = 100},
                         .y = {.low = -1, .high = 1, .cells = 80}};
  std::vector<PathPoint> right, up;
  for (int i = 0; i <= 100'000; ++i) {
    const double along = i / 100'000.0;
    const double across = std::sin(i * 0.7);
    right.push_back({.x = along, .y = across, .time = i});
    up.push_back({.x = (across + 1) / 2, .y = 2 * along - 1, .time = i});
  }
  const auto a = reduce_path(right, plane);
  EXPECT_LE(a.size(), 4 * 100U);
  EXPECT_EQ(picture(a, plane), picture(right, plane));
  const auto b = reduce_path(up, plane);
  EXPECT_LE(b.size(), 4 * 80U);
  EXPECT_EQ(picture(b, plane), picture(up, plane));
}

TEST(ReducePath, LinesEnterAndLeaveAndAreCutElsewhere) {
  const PixelPlane plane{.x = {.low = 10, .high = 20, .cells = 100}, .y = {.cells = 10}};
  const auto got = reduce_path({{.x = 0, .y = 0, .time = 1, .starts = true},
                                {.x = 5, .y = 0.1, .time = 2},
                                {.x = 15, .y = 0.5, .time = 3},
                                {.x = 25, .y = 0.6, .time = 4},
                                {.x = 30, .y = 0.7, .time = 5},
                                {.x = 31, .y = 0.8, .time = 6},
                                {.x = 12, .y = 0.9, .time = 7}},
                               plane);
  std::vector<std::pair<std::int64_t, bool>> kept;
  for (const PathPoint& p : got) kept.emplace_back(p.time, p.starts);
  EXPECT_EQ(kept, (std::vector<std::pair<std::int64_t, bool>>{
                      {2, true}, {3, false}, {4, false}, {6, true}, {7, false}}));
}

TEST(PixelAxis, CellsOfAnyRange) {
  const PixelAxis linear{.low = -1, .high = 1, .cells = 4};
  EXPECT_EQ(linear.cell(-1), 0);
  EXPECT_EQ(linear.cell(-0.5), 1);
  EXPECT_EQ(linear.cell(1), 3) << "the end is inside";
  EXPECT_EQ(linear.cell(1.01), 4);
  EXPECT_LT(linear.cell(-1.01), 0);
  const PixelAxis log{.low = 1, .high = 1000, .cells = 3, .log = true};
  EXPECT_EQ(log.cell(5), 0);
  EXPECT_EQ(log.cell(50), 1);
  EXPECT_EQ(log.cell(500), 2);
  const PixelAxis none{.low = 7, .high = 7, .cells = 5};
  EXPECT_EQ(none.cell(7), 0);
  const PixelAxis whole{.low = -1.7e308, .high = 1.7e308, .cells = 2};
  EXPECT_EQ(whole.cell(-1e300), 0);
  EXPECT_EQ(whole.cell(1e300), 1);
}

TEST(ReducePoints, OnePerPixel) {
  const PixelPlane plane{.x = {.low = 0, .high = 10, .cells = 10},
                         .y = {.low = 0, .high = 10, .cells = 10}};
  std::vector<PathPoint> points;
  for (int i = 0; i < 1000; ++i) points.push_back({.x = (i % 50) / 10.0, .y = 0.5, .time = i});
  points.push_back({.x = 11, .y = 0, .time = 0});
  const auto all = reduce_points(points, plane, 100);
  EXPECT_EQ(all.points.size(), 5U);
  EXPECT_EQ(all.left_out, 0U);
  EXPECT_EQ(all.points[1].time, 10);
  const auto some = reduce_points(points, plane, 3);
  EXPECT_EQ(some.points.size(), 3U);
  EXPECT_EQ(some.left_out, 2U);
}

// ---- all of it, over a store
class XyInAStore : public ::testing::Test {
 protected:
  void fill(int points, const std::function<double(int)>& x, const std::function<double(int)>& y) {
    const RunId run = RunId::random();
    auto writer = store_.begin(
        run, {store::testing::series_def(1, "lr"), store::testing::series_def(2, "loss")});
    std::vector<std::pair<std::int64_t, double>> xs, ys;
    std::vector<std::int64_t> steps;
    for (int i = 0; i < points; ++i) {
      xs.emplace_back(1000 + 10 * i, x(i));
      ys.emplace_back(1001 + 10 * i, y(i));
      steps.push_back(i);
    }
    store_.append({writer.frame(store::testing::samples(1, xs, steps))});
    store_.append({writer.frame(store::testing::samples(2, ys, steps))});
    x_ = store_.series(run, "lr");
    y_ = store_.series(run, "loss");
  }
  Xy make(XyRequest request) {
    request.lines = {{.x = x_, .y = y_}};
    if (request.x.pixels == 1) request.x.pixels = request.y.pixels = 100;
    const auto got = make_xy(*store_, request);
    EXPECT_TRUE(got) << got.error().message;
    return got.value_or(Xy{});
  }
  TestStore store_;
  SeriesId x_, y_;
};

TEST_F(XyInAStore, AxesAreThoseOfThePairsOrThoseAskedFor) {
  fill(
      101, [](int i) { return i; }, [](int i) { return -2.0 * i; });
  const Xy all = make({});
  EXPECT_EQ(all.plane.x.low, 0);
  EXPECT_EQ(all.plane.x.high, 100);
  EXPECT_EQ(all.plane.y.low, -200);
  EXPECT_EQ(all.lines[0].pairs, 101U);
  EXPECT_TRUE(all.lines[0].by_step);
  EXPECT_TRUE(all.lines[0].joined);
  const Xy part = make({.x = {.from = 10, .to = 20}, .y = {.to = 0}});
  EXPECT_EQ(part.plane.y.low, -40);
  EXPECT_EQ(part.plane.y.high, 0);
  EXPECT_EQ(part.lines[0].points.front().x, 9) << "from where the line comes";
  EXPECT_EQ(part.lines[0].points.back().x, 21);
  const Xy log = make({.x = {.log = true}});
  EXPECT_EQ(log.plane.x.low, 1);
  EXPECT_EQ(log.lines[0].not_finite, 1U);
  EXPECT_EQ(log.lines[0].pairs, 100U);
  const Xy some = make({.from = store::testing::kUtcMinusBoot + 1000 + 500});
  EXPECT_EQ(some.lines[0].pairs, 51U);
}

TEST_F(XyInAStore, ByTimeWhereNoStepIsCommon) {
  fill(
      10, [](int i) { return i; }, [](int i) { return i; });
  const RunId run = RunId::random();
  auto writer = store_.begin(run, {store::testing::series_def(1, "other")});
  store_.append({writer.frame(store::testing::samples(1, {{1005, 3}, {1015, 4}}, {700, 701}))});
  y_ = store_.series(run, "other");
  const Xy got = make({});
  EXPECT_FALSE(got.lines[0].by_step);
  ASSERT_EQ(got.lines[0].points.size(), 2U);
  EXPECT_EQ(got.lines[0].points[1].x, 1);
  EXPECT_TRUE(make({.pairing = XyPairing::kStep}).lines[0].points.empty());
}

TEST_F(XyInAStore, AWildLineComesAsPixels) {
  std::uint32_t seed = 1;
  const auto random = [&](int) {
    return static_cast<double>((seed = seed * 1664525 + 1013904223) >> 8);
  };
  fill(180'000, random, random);
  const Xy got = make({.x = {.pixels = 2000}, .y = {.pixels = 1000}});
  EXPECT_FALSE(got.lines[0].joined);
  EXPECT_EQ(got.lines[0].pairs, 180'000U);
  EXPECT_EQ(got.lines[0].points.size(), kMostXyPoints);
  EXPECT_GT(got.lines[0].left_out, 0U);
}

TEST_F(XyInAStore, Bytes) {
  fill(
      3, [](int i) { return i; }, [](int i) { return i == 1 ? kNone : i; });
  const std::string bytes = encode_xy(make({}));
  const auto read = [&]<class T>(std::size_t at, T value) {
    std::memcpy(&value, bytes.data() + at, sizeof value);
    return value;
  };
  EXPECT_EQ(bytes.substr(0, 4), "CRXY");
  EXPECT_EQ(read(4, std::uint16_t{}), 1);
  EXPECT_EQ(read(6, std::uint16_t{}), 1);
  EXPECT_EQ(read(8, std::uint32_t{}), 100U);
  EXPECT_EQ(read(24, double{}), 2);                // x's end
  EXPECT_EQ(read(48, std::uint64_t{}), 2U);        // pairs
  EXPECT_EQ(read(48 + 16, std::uint64_t{}), 1U);   // not finite
  EXPECT_EQ(read(48 + 40, std::uint32_t{}), 2U);   // points
  EXPECT_EQ(read(48 + 44, std::uint32_t{}), 2U);   // in two stretches
  EXPECT_EQ(read(48 + 52, std::uint8_t{}), 1);     // exact
  EXPECT_EQ(read(48 + 53, std::uint8_t{}), 1);     // by step
  EXPECT_EQ(read(48 + 56 + 8, double{}), 2);       // the second x
  EXPECT_EQ(read(48 + 56 + 16 + 8, double{}), 2);  // the second y
  EXPECT_EQ(read(48 + 56 + 32, std::int64_t{}), store::testing::kUtcMinusBoot + 1001);
  EXPECT_EQ(read(48 + 56 + 48 + 4, std::uint32_t{}), 1U);
  EXPECT_EQ(bytes.size(), 48 + 56 + 48 + 8U);
}

TEST_F(XyInAStore, RefusesWhatMeansNothing) {
  fill(
      2, [](int i) { return i; }, [](int i) { return i; });
  const auto code = [&](XyRequest request, SeriesId x) {
    request.lines = {{.x = x, .y = y_}};
    return make_xy(*store_, request).error().code;
  };
  EXPECT_EQ(code({}, SeriesId{4711}), Code::kNotFound);
  EXPECT_EQ(code({.x = {.pixels = 9000}}, x_), Code::kInvalidArgument);
  EXPECT_EQ(code({.x = {.from = 2, .to = 2}}, x_), Code::kInvalidArgument);
  EXPECT_EQ(code({.y = {.from = 0, .log = true}}, x_), Code::kInvalidArgument);
}

}  // namespace
}  // namespace corral::query
