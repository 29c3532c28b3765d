// Tests the stream of points with a decoder of their own (docs/format-points.md).
#include "query/export/read.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <map>

#include "core/json.h"
#include "query/series/points.h"
#include "query/series/test_memory_view.h"
#include "query/series/test_store.h"

namespace corral::query {
namespace {

using store::testing::samples;
using store::testing::series_def;
using testing::TestStore;

constexpr std::int64_t kUtc = 1'700'000'000'000'000'000;  // UTC of boot time 0 in test frames

struct Read {
  std::uint16_t flags = 0;
  struct Series {
    std::string metric, run;
    std::vector<std::int64_t> times, steps;
    std::vector<double> values;
    std::vector<std::pair<std::int64_t, std::int64_t>> gaps;
    int chunks = 0;
  };
  std::vector<Series> series;
  std::string end;  // "end", or the error's code
  std::string problem;
};

class Decoder {
 public:
  explicit Decoder(std::string_view text) : text_(text) {}

  Read decode() {
    if (text_.substr(0, 4) != "CRPT" || get<std::uint16_t>(4) != 1) read_.problem = "header";
    read_.flags = get<std::uint16_t>(6);
    at_ = 16;
    while (read_.problem.empty() && read_.end.empty()) chunk();
    if (at_ != text_.size()) read_.problem += " bytes left over";
    return read_;
  }

 private:
  template <class T>
  T get(std::size_t at) const {
    T value{};
    if (at + sizeof value <= text_.size()) std::memcpy(&value, text_.data() + at, sizeof value);
    return value;
  }
  template <class T>
  void column(std::vector<T>& out, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i, body_ += 8) out.push_back(get<T>(body_));
  }
  void chunk() {
    const auto kind = get<std::uint32_t>(at_);
    const auto flags = get<std::uint32_t>(at_ + 4);
    const auto size = get<std::uint64_t>(at_ + 8);
    const auto count = get<std::uint32_t>(at_ + 16);
    const auto series = get<std::uint32_t>(at_ + 20);
    body_ = at_ + 32;
    at_ = body_ + size;
    if (at_ > text_.size() || size % 8 != 0) {
      read_.problem = "a chunk is cut off";
      return;
    }
    if (kind == 1) {
      const auto json = Json::parse(std::string(text_.substr(body_, count)));
      if (!json || series != read_.series.size()) read_.problem = "declaration";
      if (json)
        read_.series.push_back({.metric = json->get_string("metric"),
                                .run = json->get_string("run"),
                                .times = {},
                                .steps = {},
                                .values = {},
                                .gaps = {}});
      return;
    }
    if ((kind == 2 || kind == 3) && series + 1 != read_.series.size()) {
      read_.problem = "a chunk of no series";
      return;
    }
    if (kind == 2) {
      Read::Series& into = read_.series.back();
      if (size != count * (flags != 0 ? 24U : 16U)) read_.problem = "size";
      column(into.times, count);
      if (flags != 0) column(into.steps, count);
      column(into.values, count);
      ++into.chunks;
      points_ += count;
    } else if (kind == 3) {
      read_.series.back().gaps.emplace_back(get<std::int64_t>(body_), get<std::int64_t>(body_ + 8));
      ++gaps_;
    } else if (kind == 4) {
      read_.end = "end";
      if (get<std::uint64_t>(body_) != read_.series.size() ||
          get<std::uint64_t>(body_ + 8) != points_ || get<std::uint64_t>(body_ + 16) != gaps_)
        read_.problem = "totals";
    } else if (kind == 5) {
      read_.end = Json::parse(std::string(text_.substr(body_, count)))->get_string("code");
    } else {
      read_.problem = "unknown kind";
    }
  }

  std::string_view text_;
  std::size_t at_ = 0, body_ = 0;
  std::uint64_t points_ = 0, gaps_ = 0;
  Read read_;
};

std::string stream_of(const store::Reader& store, const ReadRequest& request) {
  std::string text;
  const PartStream stream = read_points(store, request);
  while (stream(text).value()) {
  }
  return text;
}

Read read_all(const store::Reader& store, const ReadRequest& request) {
  const std::string text = stream_of(store, request);
  Read read = Decoder(text).decode();
  EXPECT_EQ(read.problem, "");
  return read;
}

std::vector<std::pair<std::int64_t, double>> many(std::int64_t count) {
  std::vector<std::pair<std::int64_t, double>> points;
  for (std::int64_t i = 0; i < count; ++i)
    points.emplace_back(2000 + i * 10, std::sin(static_cast<double>(i)));
  return points;
}

TEST(ReadPoints, GivesEveryBitOfSeveralRuns) {
  TestStore store;
  const RunId one = RunId::random(), two = RunId::random();
  auto writer =
      store.begin(one, {series_def(1, "loss"), series_def(2, "acc"), series_def(3, "lr")});
  const double odd = std::bit_cast<double>(std::uint64_t{0x7FF8'0000'0000'1234});
  store.append({writer.frame(samples(1, {{2000, -0.0}, {3000, odd}}, {-5, 1LL << 60})),
                writer.frame(samples(3, {{2500, 1e-310}}))});
  auto other = store.begin(two, {series_def(1, "loss")});
  store.append({other.frame(samples(1, {{4000, 7}}))});
  const Read read = read_all(*store, {.runs = {one, two}, .metrics = {"l*"}});
  EXPECT_EQ(read.end, "end");
  ASSERT_EQ(read.series.size(), 3U);
  EXPECT_EQ(read.series[0].metric, "loss");
  EXPECT_EQ(read.series[0].run, one.hex());
  EXPECT_EQ(read.series[0].times, (std::vector<std::int64_t>{kUtc + 2000, kUtc + 3000}));
  EXPECT_EQ(read.series[0].steps, (std::vector<std::int64_t>{-5, 1LL << 60}));
  EXPECT_TRUE(std::signbit(read.series[0].values[0]));
  EXPECT_EQ(std::bit_cast<std::uint64_t>(read.series[0].values[1]),
            std::bit_cast<std::uint64_t>(odd));
  EXPECT_EQ(read.series[1].metric, "lr");
  EXPECT_TRUE(read.series[1].steps.empty());
  EXPECT_EQ(read.series[1].values, std::vector<double>{1e-310});
  EXPECT_EQ(read.series[2].run, two.hex());
}

TEST(ReadPoints, IsTheSameBeforeAndAfterSealing) {
  TestStore store;
  const RunId run = RunId::random();
  auto writer = store.begin(run, {series_def(1, "x")});
  store.append({writer.frame(samples(1, many(20'000)))});
  const ReadRequest request{.runs = {run}};
  const Read before = read_all(*store, request);
  ASSERT_TRUE(store->seal(true));
  const Read after = read_all(*store, request);
  ASSERT_EQ(after.series[0].times.size(), 20'000U);
  EXPECT_EQ(before.series[0].times, after.series[0].times);
  EXPECT_EQ(before.series[0].values, after.series[0].values);
  EXPECT_GT(after.series[0].chunks, 2) << "blocks come as they are";
}

TEST(ReadPoints, TakesARangeOfTimeOfTheRunOrOfUtc) {
  TestStore store;
  const RunId run = RunId::random();
  auto writer = store.begin(run, {series_def(1, "x")}, "otter", 1000);
  store.append({writer.frame(samples(1, many(20'000)))});
  ASSERT_TRUE(store->seal(true));
  ReadRequest request{.runs = {run}, .from = kUtc + 2000 + 90'000, .to = kUtc + 2000 + 90'030};
  const std::vector<std::int64_t> wanted{kUtc + 92'000, kUtc + 92'010, kUtc + 92'020};
  EXPECT_EQ(read_all(*store, request).series[0].times, wanted) << "half open";
  request.since_start = true;
  request.from = 91'000;
  request.to = 91'030;
  EXPECT_EQ(read_all(*store, request).series[0].times, wanted) << "the run started at 1000";
  request.to = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(read_all(*store, request).series[0].times.size(), 11'000U);
}

TEST(ReadPoints, ReducedPointsAreAFewOfThoseThatAreThere) {
  TestStore store;
  const RunId run = RunId::random();
  auto writer =
      store.begin(run, {series_def(1, "a"), series_def(2, "flat"), series_def(3, "none")});
  auto points = many(20'000);
  points[12'345].second = 99;
  std::map<std::int64_t, double> there;
  for (const auto& [time, value] : points) there[kUtc + time] = value;
  store.append(
      {writer.frame(samples(1, points)), writer.frame(samples(2, {{5, 1}, {6, 1}, {7, 1}}))});
  const Read read = read_all(*store, {.runs = {run}, .points = 100});
  EXPECT_EQ(read.flags, 1);
  ASSERT_EQ(read.series.size(), 3U);
  const Read::Series& x = read.series[0];
  EXPECT_LE(x.times.size(), 100U);
  EXPECT_GT(x.times.size(), 50U);
  EXPECT_TRUE(std::ranges::is_sorted(x.times));
  EXPECT_EQ(x.times.front(), kUtc + 2000);
  EXPECT_EQ(x.times.back(), kUtc + 2000 + 199'990);
  EXPECT_NE(std::ranges::find(x.values, 99), x.values.end()) << "no extreme is lost";
  for (std::size_t i = 0; i < x.times.size(); ++i) EXPECT_EQ(there.at(x.times[i]), x.values[i]);
  EXPECT_TRUE(read.series[2].times.empty());
}

TEST(ReadPoints, AnErrorInTheMiddleIsTold) {
  TestStore store;
  const RunId run = RunId::random();
  auto writer = store.begin(run, {series_def(1, "x")});
  store.append({writer.frame(samples(1, {{2000, 1}}))});
  const Read read = read_all(*store, {.runs = {run, RunId::random()}});
  EXPECT_EQ(read.end, "not_found");
  EXPECT_EQ(read.series.size(), 1U);
}

TEST(ReadPoints, ComesInParts) {
  TestStore store;
  const RunId run = RunId::random();
  auto writer = store.begin(run, {series_def(1, "x")});
  store.append({writer.frame(samples(1, many(20'000)))});
  const PartStream stream = read_points(*store, {.runs = {run, run}});
  std::string first, second;
  EXPECT_TRUE(stream(first).value());
  EXPECT_FALSE(stream(second).value());
  EXPECT_GT(first.size(), 20'000U * 16);
  EXPECT_GT(second.size(), 20'000U * 16);
}

// Each part is a step of its own; between two of them points arrive and are sealed.
TEST(ReadPoints, PointsThatMoveIntoBlocksBetweenPartsComeOnce) {
  TestStore store;
  const RunId run = RunId::random();
  auto writer = store.begin(run, {series_def(1, "x"), series_def(2, "y")});
  const auto all = many(60'000);
  const auto append = [&](std::int64_t first, std::int64_t end) {
    const std::vector some(all.begin() + first, all.begin() + end);
    store.append({writer.frame(samples(1, some)), writer.frame(samples(2, some))});
  };
  append(0, 30'000);
  ASSERT_TRUE(store->seal(true));
  std::string text;
  const PartStream stream = read_points(*store, {.runs = {run}});
  int parts = 1;
  for (std::int64_t first = 30'000; stream(text).value(); ++parts) {
    if (first == 60'000) continue;
    append(first, first + 6'000);
    first += 6'000;
    ASSERT_TRUE(store->seal(true));
  }
  EXPECT_GT(parts, 6) << "blocks come one by one";
  const Read read = Decoder(text).decode();
  EXPECT_EQ(read.problem, "");
  EXPECT_EQ(read.end, "end");
  ASSERT_EQ(read.series.size(), 2U);
  for (const Read::Series& series : read.series) {
    EXPECT_TRUE(series.gaps.empty());
    ASSERT_GE(series.times.size(), 30'000U);
    for (std::size_t i = 0; i < series.times.size(); ++i)
      ASSERT_EQ(series.times[i], kUtc + all[i].first) << i;
  }
}

TEST(ReadPoints, LooksWhetherAnythingMatches) {
  TestStore store;
  const RunId run = RunId::random();
  store.begin(run, {series_def(1, "w[0]")});
  EXPECT_TRUE(check_read(*store, {.runs = {run}, .metrics = {"no", "w[0]"}})) << "a name as it is";
  const auto none = check_read(*store, {.runs = {run}, .metrics = {"x", "y*"}});
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, Code::kNotFound);
  EXPECT_NE(none.error().message.find("x, y*"), std::string::npos) << none.error().message;
}

// ---- damage
class Gaps final : public PointTaker {
 public:
  void points(const PointBatch& batch) override {
    times.insert(times.end(), batch.times.begin(), batch.times.end());
  }
  void gap(const PointGap& gap) override { gaps.push_back(gap); }
  std::vector<std::int64_t> times;
  std::vector<PointGap> gaps;
};

class Damaged : public ::testing::Test {
 protected:
  Damaged() {
    testing::Points points;
    for (std::int64_t i = 0; i < 30'000; ++i) {
      points.times.push_back(i * 10);
      points.values.push_back(static_cast<double>(i));
    }
    view_.add(kId, 1, points);
    view_.finish();
  }
  Gaps walk(PointQuery query) {
    query.series = {kId};
    Gaps gaps;
    EXPECT_TRUE(walk_batches(view_, query, gaps));
    return gaps;
  }
  static constexpr SeriesId kId{7};
  testing::MemoryView view_;
};

TEST_F(Damaged, ABlockIsAGapOfItsTime) {
  view_.damage_block(kId, 1);
  const Gaps found = walk({});
  EXPECT_EQ(found.times.size(), 30'000U - 8192U);
  ASSERT_EQ(found.gaps.size(), 1U);
  EXPECT_EQ(found.gaps[0].from, 81'920);
  EXPECT_EQ(found.gaps[0].to, 163'830);
  EXPECT_EQ(found.gaps[0].points, 8192U);
}

TEST_F(Damaged, WhenThePyramidIsDamagedTooNobodyKnowsWhere) {
  view_.damage_block(kId, 1);
  view_.damage_row(kId, store::Channel::kValue, 0, 0);
  const Gaps found = walk({});
  ASSERT_EQ(found.gaps.size(), 1U);
  EXPECT_EQ(found.gaps[0].from, PointGap::kEarliest);
  EXPECT_EQ(found.gaps[0].to, PointGap::kLatest);
}

TEST_F(Damaged, OnlyWhatLiesInTheRangeIsToldOf) {
  view_.damage_block(kId, 1);
  view_.lose_time(kId, {.t0 = 290'000, .t1 = 290'500});
  EXPECT_TRUE(walk({.to = utc_time(81'920)}).gaps.empty());
  EXPECT_EQ(walk({.from = utc_time(163'830), .to = utc_time(290'000)}).gaps.size(), 1U);
  const Gaps both = walk({.from = utc_time(100'000), .to = utc_time(290'001)});
  ASSERT_EQ(both.gaps.size(), 2U);
  EXPECT_EQ(both.gaps[1].from, 290'000);
  EXPECT_EQ(both.gaps[1].points, 0U) << "unknown";
}

}  // namespace
}  // namespace corral::query
