#include "analyze/line.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "analyze/repetition.h"
#include "query/series/grid.h"
#include "query/series/test_store.h"
#include "query/series/window.h"

namespace corral::analyze {
namespace {

using query::testing::TestStore;
using store::testing::kUtcMinusBoot;
using store::testing::series_def;
using store::testing::SessionWriter;

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
constexpr std::int64_t kSpacing = 1'000'000;

struct Raw {
  std::int64_t time = 0;  // UTC
  double value = 0;
};
using Raws = std::vector<Raw>;

// Irregular times, a few NaN and two long holes.
Raws points_of(unsigned seed, std::size_t count, bool counter) {
  std::mt19937_64 random(seed);
  Raws points;
  std::int64_t time = 5000;
  double total = 0;
  for (std::size_t i = 0; i < count; ++i) {
    time += 1 + static_cast<std::int64_t>(random() % (2 * kSpacing));
    if (i == count / 3 || i == count / 2) time += 2000 * kSpacing;
    total = random() % 3000 == 0 ? 0 : total + static_cast<double>(random() % 100);
    double value = counter ? total : std::sin(static_cast<double>(i) * 1e-3) * 50 + 100;
    if (!counter) value += static_cast<double>(random() % 1000) * 0.01;
    if (random() % 200 == 0) value = kNone;
    points.push_back({time + kUtcMinusBoot, value});
  }
  return points;
}

void append(TestStore& store, SessionWriter& writer, std::uint32_t series, const Raws& points) {
  std::vector<std::pair<std::int64_t, double>> pairs;
  for (const Raw& p : points) pairs.emplace_back(p.time - kUtcMinusBoot, p.value);
  store.append({writer.frame(store::testing::samples(series, pairs))});
}

constexpr std::size_t kRecent = 500;

// Points in blocks and in row groups; the last kRecent are left for append_rest().
void fill_levels(TestStore& store, SessionWriter& writer, std::uint32_t series,
                 const Raws& points) {
  const std::size_t sealed = points.size() - kRecent;
  for (std::size_t i = 0; i < sealed; i += 4000) {
    const auto end = std::min(i + 4000, sealed);
    append(store, writer, series, Raws(&points[i], &points[end]));
    ASSERT_TRUE(store->seal(false));
  }
}
void append_rest(TestStore& store, SessionWriter& writer, std::uint32_t series,
                 const Raws& points) {
  append(store, writer, series, Raws(points.end() - kRecent, points.end()));
}

struct Two {
  TestStore store;
  RunId run = RunId::random();
  Raws watts = points_of(1, 22'000, false), bytes = points_of(2, 22'000, true);
  SeriesId watts_id, bytes_id;

  Two() {
    auto counter = series_def(2, "bytes");
    counter.kind = metric::Kind::kCounter;
    SessionWriter writer = store.begin(run, {series_def(1, "watts"), counter});
    fill_levels(store, writer, 1, watts);
    fill_levels(store, writer, 2, bytes);
    append_rest(store, writer, 1, watts);
    append_rest(store, writer, 2, bytes);
    watts_id = store.series(run, "watts");
    bytes_id = store.series(run, "bytes");
  }
};

Lines ask(TestStore& store, const LineRequest& request) {
  const auto lines = make_lines(*store, request);
  EXPECT_TRUE(lines) << lines.error().message;
  return lines.value_or(Lines{});
}

std::size_t column_of(const Lines& lines, std::int64_t x) {
  __extension__ using Wide = __int128;
  return static_cast<std::size_t>(static_cast<Wide>(x - lines.from) * lines.width /
                                  (lines.to - lines.from));
}

// Differences per second of consecutive finite points; a step down has none.
Raws rates_of(const Raws& points) {
  Raws rates;
  std::optional<Raw> last;
  for (const Raw& p : points) {
    if (!std::isfinite(p.value)) continue;
    if (last && p.value >= last->value)
      rates.push_back(
          {p.time, (p.value - last->value) / (static_cast<double>(p.time - last->time) * 1e-9)});
    last = p;
  }
  return rates;
}

std::vector<double> naive_means(const Lines& lines, const Raws& points) {
  std::vector<double> sums(lines.width, 0);
  std::vector<int> counts(lines.width, 0);
  for (const Raw& p : points) {
    if (p.time < lines.from || p.time >= lines.to || !std::isfinite(p.value)) continue;
    sums[column_of(lines, p.time)] += p.value;
    ++counts[column_of(lines, p.time)];
  }
  for (std::size_t i = 0; i < sums.size(); ++i)
    sums[i] = counts[i] > 0 ? sums[i] / counts[i] : kNone;
  return sums;
}

void expect_near(const std::vector<double>& got, const std::vector<double>& want,
                 double tolerance = 1e-9) {
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    ASSERT_EQ(std::isnan(got[i]), std::isnan(want[i])) << i;
    if (std::isnan(want[i])) continue;
    ASSERT_NEAR(got[i], want[i], tolerance * (1 + std::abs(want[i]))) << i;
  }
}

TEST(Line, TheStoreHasAllLevels) {
  Two two;
  const SeriesId ids[] = {two.watts_id};
  const auto looked = (*two.store).view(ids, [&](store::PointView& view) -> Result<> {
    EXPECT_EQ(view.block_count(two.watts_id), 2);
    EXPECT_GT(view.recent(two.watts_id).size(), 1U);
    return {};
  });
  EXPECT_TRUE(looked);
}

TEST(Line, MeansAndRatesAndTheirRatioAreThoseOfEveryPoint) {
  Two two;
  const auto lines =
      ask(two.store, {.lines = {{.series = {two.watts_id}},
                                {.series = {two.bytes_id}},
                                {.kind = LineKind::kRatio, .series = {two.bytes_id, two.watts_id}}},
                      .width = 333});
  EXPECT_EQ(lines.from, std::min(two.watts.front().time, two.bytes.front().time));
  EXPECT_EQ(lines.to, std::max(two.watts.back().time, two.bytes.back().time) + 1);
  const auto watts = naive_means(lines, two.watts);
  const auto rates = naive_means(lines, rates_of(two.bytes));
  expect_near(lines.lines[0].arrays[0], watts);
  expect_near(lines.lines[1].arrays[0], rates);
  std::vector<double> ratio;
  for (std::size_t i = 0; i < watts.size(); ++i) ratio.push_back(rates[i] / watts[i]);
  expect_near(lines.lines[2].arrays[0], ratio);
  EXPECT_EQ(lines.lines[0].rate, 0);
  EXPECT_EQ(lines.lines[1].rate, 1);
  EXPECT_EQ(lines.lines[2].rate, 1);
  EXPECT_TRUE(lines.lines[0].exact);
  EXPECT_EQ(lines.lines[0].points, static_cast<std::uint64_t>(std::ranges::count_if(
                                       two.watts, [](auto& p) { return std::isfinite(p.value); })));
}

TEST(Line, SmoothedIsThatOfEveryPoint) {
  Two two;
  const std::int64_t from = two.watts[9000].time;
  const std::int64_t to = two.watts[21'800].time;
  const query::SmoothOptions ema{
      .kind = query::Smoothing::kTimeEma, .alpha = 0.5, .unit = 30.0 * kSpacing};
  const query::SmoothOptions mean{.kind = query::Smoothing::kRunningMean,
                                  .width = 100.0 * kSpacing};
  const auto lines = ask(
      two.store, {.lines = {{.kind = LineKind::kSmooth, .series = {two.watts_id}, .smooth = ema},
                            {.kind = LineKind::kSmooth, .series = {two.watts_id}, .smooth = mean}},
                  .from = from,
                  .to = to,
                  .width = 200});
  std::vector<double> want(200, kNone);
  double sum = 0, weight = 0;
  std::int64_t last = two.watts.front().time;
  for (const Raw& p : two.watts) {
    if (!std::isfinite(p.value)) continue;
    const double decay = std::pow(0.5, static_cast<double>(p.time - last) / ema.unit);
    sum = sum * decay + p.value;
    weight = weight * decay + 1;
    last = p.time;
    if (p.time >= from && p.time < to) want[column_of(lines, p.time)] = sum / weight;
  }
  expect_near(lines.lines[0].arrays[0], want);
  const query::Grid grid(from, to, 200);
  for (std::uint32_t i = 0; i < 200; ++i) {
    const std::int64_t begin =
        grid.border(i) + (grid.border(i + 1) - grid.border(i)) / 2 - 50 * kSpacing;
    double total = 0;
    int n = 0;
    for (const Raw& p : two.watts) {
      if (p.time < begin || p.time >= begin + 100 * kSpacing || !std::isfinite(p.value)) continue;
      total += p.value;
      ++n;
    }
    want[i] = n > 0 ? total / n : kNone;
  }
  expect_near(lines.lines[1].arrays[0], want);
}

TEST(Line, IntegralOfARateIsWhatWasCounted) {
  Two two;
  const auto lines = ask(
      two.store, {.lines = {{.kind = LineKind::kIntegral, .series = {two.bytes_id}}}, .width = 7});
  double got = 0;
  for (const double v : lines.lines[0].arrays[0]) got += std::isnan(v) ? 0 : v;
  double want = 0;
  std::optional<double> last;
  for (const Raw& p : two.bytes) {
    if (!std::isfinite(p.value)) continue;
    if (last && p.value >= *last) want += p.value - *last;
    last = p.value;
  }
  EXPECT_GT(want, 500'000);
  EXPECT_NEAR(got / want, 1, 1e-10);
}

// ---- groups
struct Repeated {
  TestStore store;
  std::vector<RunId> runs;
  std::vector<Raws> points;
  std::vector<SeriesId> ids;

  void add(const std::string& command, const std::string& seed, std::size_t count) {
    const RunId run = RunId::random();
    SessionWriter writer = store.begin(run, {series_def(1, "loss")});
    codec::FactsBody facts;
    facts.facts = {{codec::FactKind::kInfo, "command", command},
                   {codec::FactKind::kParam, "lr", "0.1"},
                   {codec::FactKind::kParam, "torch_seed", seed}};
    store.append({writer.frame(facts)});
    points.push_back(points_of(static_cast<unsigned>(runs.size()) + 10, count, false));
    fill_levels(store, writer, 1, points.back());
    append_rest(store, writer, 1, points.back());
    runs.push_back(run);
    ids.push_back(store.series(run, "loss"));
  }
  [[nodiscard]] LineRequest request(std::optional<bool> repetitions = {}) const {
    return {
        .lines = {{.kind = LineKind::kGroup, .series = ids, .group = {.repetitions = repetitions}}},
        .width = 50};
  }
};

TEST(Line, GroupIsTheMeanOfTheRunsMeans) {
  Repeated all;
  all.add(R"(["python3","train.py","--seed","1"])", "1", 9500);
  all.add(R"(["python3","train.py","--seed","2"])", "2", 9300);
  all.add(R"(["python3","train.py","--seed=3"])", "3", 900);
  const auto lines = ask(all.store, all.request());
  const Line& line = lines.lines[0];
  ASSERT_EQ(line.arrays.size(), 13U);
  EXPECT_EQ(line.units, 3U);
  std::vector<std::vector<double>> means;
  for (const Raws& points : all.points) means.push_back(naive_means(lines, points));
  std::vector<double> mean(50, kNone), deviation(50, kNone), counts(50, 0);
  for (std::size_t i = 0; i < 50; ++i) {
    double sum = 0, squares = 0, n = 0;
    for (const auto& one : means) {
      if (std::isnan(one[i])) continue;
      sum += one[i];
      ++n;
    }
    counts[i] = n;
    if (n > 0) mean[i] = sum / n;
    for (const auto& one : means)
      if (!std::isnan(one[i])) squares += (one[i] - mean[i]) * (one[i] - mean[i]);
    if (n > 1) deviation[i] = std::sqrt(squares / (n - 1));
  }
  expect_near(line.arrays[0], mean);
  expect_near(line.arrays[3], deviation, 1e-7);
  EXPECT_EQ(line.arrays[7], counts);
  std::vector<double> first{means[0][0], means[1][0], means[2][0]};
  std::ranges::sort(first);
  EXPECT_NEAR(line.arrays[11][0], first[1], 1e-9);
  EXPECT_NEAR(line.arrays[10][0], (first[0] + first[1]) / 2, 1e-9);
  EXPECT_EQ(counts.front(), 3);
  EXPECT_LT(counts.back(), 3) << "the short run is a hole, nothing is held";
}

TEST(Line, AGroupAgainstAnother) {
  Repeated all;
  for (const auto* seed : {"1", "2", "3"})
    all.add(R"(["python3","train.py"])", seed, *seed == '3' ? 900 : 9500);
  const std::vector<SeriesId> group(all.ids.begin(), all.ids.begin() + 2);
  const std::vector<SeriesId> baseline(all.ids.begin() + 2, all.ids.end());
  const LineQuestion compare{.kind = LineKind::kCompare, .series = all.ids, .baseline = 1};
  LineQuestion ratio = compare;
  ratio.difference = false;
  const auto lines = ask(all.store, {.lines = {compare,
                                               ratio,
                                               {.kind = LineKind::kGroup, .series = group},
                                               {.kind = LineKind::kGroup, .series = baseline}},
                                     .width = 50});
  const auto& mean = lines.lines[2].arrays[0];
  const auto& base = lines.lines[3].arrays[0];
  std::vector<double> differences(50, kNone), ratios(50, kNone);
  std::size_t both = 0;
  for (std::size_t i = 0; i < 50; ++i) {
    if (std::isnan(mean[i]) || std::isnan(base[i])) continue;
    ++both;
    differences[i] = mean[i] - base[i];
    ratios[i] = mean[i] / base[i];
  }
  EXPECT_GT(both, 2U);
  EXPECT_LT(both, 49U) << "the baseline is shorter";
  for (const std::size_t i : {0U, 1U}) {
    const Line& line = lines.lines[i];
    ASSERT_EQ(line.arrays.size(), 5U);
    EXPECT_EQ(line.units, 2U);
    EXPECT_TRUE(line.exact);
    expect_near(line.arrays[0], i == 0 ? differences : ratios);
    expect_near(line.arrays[1], mean);
    expect_near(line.arrays[2], base);
    expect_near(line.arrays[3], lines.lines[2].arrays[7]);
    expect_near(line.arrays[4], lines.lines[3].arrays[7]);
  }
}

TEST(Line, NothingIsDividedByZero) {
  TestStore store;
  std::vector<SeriesId> ids;
  for (const double value : {4.0, 0.0}) {
    const RunId run = RunId::random();
    SessionWriter writer = store.begin(run, {series_def(1, "loss")});
    store.append({writer.frame(store::testing::samples(1, {{2000, value}, {3000, value}}))});
    ids.push_back(store.series(run, "loss"));
  }
  const auto lines = ask(
      store,
      {.lines = {{.kind = LineKind::kCompare, .series = ids, .baseline = 1, .difference = false}},
       .width = 1});
  EXPECT_TRUE(std::isnan(lines.lines[0].arrays[0][0]));
  EXPECT_EQ(lines.lines[0].zero_denominators, 1U);
}

TEST(Line, AnIntervalIsOnlyOverRepetitions) {
  Repeated all;
  all.add(R"(["python3","train.py","--seed","1"])", "1", 600);
  all.add(R"(["python3","train.py","--seed","2"])", "2", 600);
  EXPECT_EQ(ask(all.store, all.request()).lines[0].reason, IntervalReason::kGiven);
  EXPECT_FALSE(std::isnan(ask(all.store, all.request()).lines[0].arrays[4][0]));
  EXPECT_EQ(ask(all.store, all.request(false)).lines[0].reason, IntervalReason::kNotRepetitions);
  all.add(R"(["python3","train.py","--batch","2"])", "2", 600);
  const auto apart = ask(all.store, all.request());
  EXPECT_EQ(apart.lines[0].reason, IntervalReason::kNotRepetitions);
  EXPECT_TRUE(std::isnan(apart.lines[0].arrays[4][0]));
  EXPECT_EQ(ask(all.store, all.request(true)).lines[0].reason, IntervalReason::kGiven);
}

TEST(Line, ASharedDeviceCountsOnce) {
  TestStore store;
  std::vector<SeriesId> ids;
  for (const double watts : {100.0, 104.0}) {
    const RunId run = RunId::random();
    auto def = series_def(1, "host.power");
    def.owner = metric::Owner::kWorkload;
    def.aggregation = metric::Aggregation::kSharedOnce;
    SessionWriter writer = store.begin(run, {def});
    store.append({writer.frame(store::testing::samples(1, {{2000, watts}, {3000, watts}}))});
    ids.push_back(store.series(run, "host.power"));
  }
  const auto lines = ask(store, {.lines = {{.kind = LineKind::kGroup, .series = ids}}, .width = 1});
  EXPECT_EQ(lines.lines[0].units, 1U);
  EXPECT_EQ(lines.lines[0].counted_once, 1U);
  EXPECT_EQ(lines.lines[0].arrays[9][0], 102);
}

// ---- windows over the same store
// One run of several sessions, each of which counts from 1,000 up: points in blocks, row groups and
// batch rows.
TEST(Line, TheIntegralOfARateIsTheDifferenceOfEndsInEverySession) {
  TestStore store;
  const RunId run = RunId::random();
  auto counter = series_def(1, "bytes");
  counter.kind = metric::Kind::kCounter;
  std::vector<Raws> sessions;
  std::mt19937_64 random(3);
  std::int64_t time = kUtcMinusBoot + 5000;
  for (const std::size_t count : {10'000, 9'000, 700, 3}) {
    Raws points;
    double total = 1000;
    for (std::size_t i = 0; i < count; ++i) {
      time += 1 + static_cast<std::int64_t>(random() % (2 * kSpacing));
      points.push_back({time, total += static_cast<double>(random() % 100'000)});
    }
    SessionWriter writer = store.begin(run, {counter});
    if (count > kRecent) fill_levels(store, writer, 1, points);
    if (count > kRecent) append_rest(store, writer, 1, points);
    if (count <= kRecent) append(store, writer, 1, points);
    sessions.push_back(std::move(points));
  }
  const SeriesId id = store.series(run, "bytes");
  double all = 0;
  const SeriesId ids[] = {id};
  const auto read = (*store).view(ids, [&](store::PointView& view) -> Result<> {
    EXPECT_EQ(view.block_count(id), 2);
    query::WindowRequest request{.series = {{.series = id, .channel = store::Channel::kRate}},
                                 .integral_options = {.rule = query::IntegralRule::kBackward}};
    for (const Raws& points : sessions) {
      request.from = points.front().time;
      request.to = points.back().time + 1;
      const query::WindowStatistics window = TRY(query::window_statistics(view, request)).front();
      const double want = points.back().value - points.front().value;
      all += want;
      EXPECT_NEAR(window.integral->integral / want, 1, 1e-10);
      EXPECT_NEAR(window.integral->covered,
                  static_cast<double>(points.back().time - points.front().time) * 1e-9, 1e-9);
      EXPECT_EQ(window.count, points.size() - 1);
      EXPECT_EQ(window.not_finite, 0U);
    }
    return {};
  });
  EXPECT_TRUE(read) << read.error().message;
  const auto lines =
      ask(store, {.lines = {{.kind = LineKind::kIntegral, .series = {id}}}, .width = 1});
  EXPECT_TRUE(lines.lines[0].exact);
  EXPECT_NEAR(lines.lines[0].arrays[0][0] / all, 1, 1e-10);
}

TEST(Line, WindowStatisticsOfAStoreAreThoseOfEveryPoint) {
  Two two;
  const std::int64_t from = two.watts[5000].time, to = two.watts[21'700].time;
  std::vector<double> values;
  for (const Raw& p : two.watts)
    if (p.time >= from && p.time < to && std::isfinite(p.value)) values.push_back(p.value);
  std::ranges::sort(values);
  const SeriesId ids[] = {two.watts_id};
  const auto read = (*two.store).view(ids, [&](store::PointView& view) -> Result<> {
    const auto all = TRY(query::window_statistics(
        view,
        {.series = {{.series = two.watts_id}}, .from = from, .to = to, .probabilities = {0.5, 1}}));
    const query::WindowStatistics& window = all.front();
    EXPECT_EQ(window.count, values.size());
    EXPECT_EQ(window.min->value, values.front());
    EXPECT_EQ(window.max->value, values.back());
    EXPECT_EQ(window.quantiles.quantiles[1].value, values.back());
    const std::size_t middle = (values.size() - 1) / 2;
    EXPECT_NEAR(window.quantiles.quantiles[0].value,
                values.size() % 2 == 1 ? values[middle] : (values[middle] + values[middle + 1]) / 2,
                1e-12);
    EXPECT_EQ(window.last->time, two.watts[21'699].time);
    const auto latest = TRY(query::latest_value(view, {.series = two.watts_id}));
    EXPECT_EQ(latest->value, two.watts.back().value);
    return {};
  });
  EXPECT_TRUE(read) << read.error().message;
}

TEST(Line, StepsAndRelativeTime) {
  TestStore store;
  const RunId run = RunId::random();
  SessionWriter writer = store.begin(run, {series_def(1, "loss")});
  store.append({writer.frame(
      store::testing::samples(1, {{2000, 4}, {3000, 3}, {4000, 2}, {5000, 1}}, {0, 1, 2, 7}))});
  const SeriesId id = store.series(run, "loss");
  const auto steps =
      ask(store, {.lines = {{.series = {id}}}, .axis = query::ChartAxis::kStep, .width = 8});
  EXPECT_EQ(steps.from, 0);
  EXPECT_EQ(steps.to, 8);
  EXPECT_EQ(steps.lines[0].arrays[0][7], 1);
  EXPECT_TRUE(std::isnan(steps.lines[0].arrays[0][5]));
  const auto relative = ask(store, {.lines = {{.series = {id}, .origins = {kUtcMinusBoot + 2000}}},
                                    .axis = query::ChartAxis::kRelative,
                                    .from = 0,
                                    .to = 4000,
                                    .width = 4});
  EXPECT_EQ(relative.lines[0].arrays[0], (std::vector<double>{4, 3, 2, 1}));
}

TEST(Line, RefusesWhatMeansNothing) {
  TestStore store;
  const RunId run = RunId::random();
  auto counter = series_def(2, "bytes");
  counter.unit = "B";
  static_cast<void>(store.begin(run, {series_def(1, "loss"), counter}));
  const SeriesId a = store.series(run, "loss"), b = store.series(run, "bytes");
  const auto code = [&](const LineRequest& request) {
    const auto lines = make_lines(*store, request);
    return lines ? Code::kInternal : lines.error().code;
  };
  EXPECT_EQ(code({.lines = {{.series = {SeriesId{99}}}}, .width = 1}), Code::kNotFound);
  for (const LineRequest& request : std::vector<LineRequest>{
           {.lines = {}, .width = 1},
           {.lines = {{.series = {a}}}, .width = 0},
           {.lines = {{.series = {a, b}}}, .width = 1},
           {.lines = {{.kind = LineKind::kRatio, .series = {a}}}, .width = 1},
           {.lines = {{.kind = LineKind::kGroup, .series = {a, b}}}, .width = 1},
           {.lines = {{.kind = LineKind::kCompare, .series = {a, a}}}, .width = 1},
           {.lines = {{.kind = LineKind::kCompare, .series = {a, a}, .baseline = 2}}, .width = 1},
           {.lines = {{.kind = LineKind::kCompare, .series = {a, b}, .baseline = 1}}, .width = 1},
           {.lines = {{.series = {a}}}, .axis = query::ChartAxis::kRelative, .width = 1},
           {.lines = {{.series = {a}}}, .from = 5, .to = 5, .width = 1},
           {.lines = {{.kind = LineKind::kIntegral, .series = {a}}},
           .axis = query::ChartAxis::kStep,
           .width = 1}}) {
    EXPECT_EQ(code(request), Code::kInvalidArgument);
  }
  const auto empty = ask(store, {.lines = {{.series = {a}}}, .width = 3});
  EXPECT_TRUE(std::isnan(empty.lines[0].arrays[0][0]));
}

TEST(Line, TheBinaryFormIsAsDocumented) {
  Line line;
  line.kind = LineKind::kGroup;
  line.rate = 1;
  line.reason = IntervalReason::kTooFew;
  line.points = 7;
  line.lost = {.points = 9, .spans = true};
  line.units = 3;
  line.window = 2.5;
  line.arrays = {{1, 2}, {3, 4}};
  const std::string bytes = encode_lines(
      {.axis = query::ChartAxis::kStep, .from = -1, .to = 5, .width = 2, .lines = {line}});
  ASSERT_EQ(bytes.size(), 32 + 48 + 4 * 8U);
  const auto at = [&]<class T>(std::size_t offset, T) {
    T value{};
    std::memcpy(&value, bytes.data() + offset, sizeof value);
    return value;
  };
  EXPECT_EQ(bytes.substr(0, 4), "CRLN");
  EXPECT_EQ(at(4, std::uint16_t{}), 1);
  EXPECT_EQ(at(6, std::uint16_t{}), 1);
  EXPECT_EQ(at(8, std::uint32_t{}), 2U);
  EXPECT_EQ(at(12, std::uint32_t{}), 2U);
  EXPECT_EQ(at(16, std::int64_t{}), -1);
  EXPECT_EQ(bytes.substr(32, 4), std::string("\4\1\1\2"));
  EXPECT_EQ(at(36, std::uint32_t{}), 2U);
  EXPECT_EQ(at(40, std::uint64_t{}), 7U);
  EXPECT_EQ(at(48, std::uint64_t{}), 9U);
  EXPECT_EQ(at(56, std::uint32_t{}), 1U);
  EXPECT_EQ(at(60, std::uint32_t{}), 3U);
  EXPECT_EQ(at(72, double{}), 2.5);
  EXPECT_EQ(at(80 + 24, double{}), 4);
}

}  // namespace
}  // namespace corral::analyze
