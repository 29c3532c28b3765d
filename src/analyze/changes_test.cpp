#include "analyze/changes.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>

#include "query/series/test_store.h"

namespace corral::analyze {
namespace {

using query::testing::TestStore;

SampleDifference difference_of(std::vector<double> before, std::vector<double> after) {
  return sample_difference(before, after);
}

// scipy 1.11: ks_2samp(a, b).statistic, 2 * mannwhitneyu(b, a).statistic / (n * m) - 1; numpy:
// (b.mean() - a.mean()) / pooled, .mean(), .std(ddof=1).
TEST(SampleDifference, AsScipySays) {
  const auto got =
      difference_of({3.1, 2.7, 3.3, 3.1, 2.9, 3.0, 2.8, 3.4}, {3.1, 3.6, 3.9, 3.3, 3.8, 4.1, 3.5});
  EXPECT_NEAR(got.ks, 0.7142857142857143, 1e-15);
  EXPECT_NEAR(got.cohens_d, 1.9586745948923916, 1e-12);
  EXPECT_NEAR(got.cliffs_delta, 0.8392857142857142, 1e-15);
  EXPECT_EQ(got.direction, Direction::kUp);
  EXPECT_NEAR(got.before.mean, 3.0375, 1e-14);
  EXPECT_NEAR(got.before.deviation, 0.238671920665766, 1e-14);
  EXPECT_EQ(got.before.n, 8U);
  EXPECT_NEAR(got.after.mean, 3.614285714285714, 1e-14);
  EXPECT_NEAR(got.after.deviation, 0.3484660262185847, 1e-14);
  EXPECT_EQ(got.after.n, 7U);
}

TEST(SampleDifference, AnotherShapeAboutTheSameMean) {
  const auto got = difference_of({1, 1, 2, 2, 3, 3, 4, 4}, {0, 0, 0, 5, 5, 5, 2.5, 2.5});
  EXPECT_NEAR(got.ks, 0.375, 1e-15);
  EXPECT_EQ(got.cliffs_delta, 0);
  EXPECT_EQ(got.direction, Direction::kShape);
  EXPECT_NEAR(got.before.deviation, 1.1952286093343936, 1e-14);
  EXPECT_NEAR(got.after.deviation, 2.3145502494313788, 1e-14);
}

TEST(SampleDifference, ConstantsHaveNoDeviation) {
  const std::vector<double> tenth(10, 0.1);
  const auto same = difference_of(tenth, tenth);
  EXPECT_EQ(same.ks, 0);
  EXPECT_EQ(same.cohens_d, 0);
  EXPECT_EQ(same.before.deviation, 0);
  const auto less = difference_of(tenth, {0.05, 0.05});
  EXPECT_EQ(less.ks, 1);
  EXPECT_EQ(less.cohens_d, -std::numeric_limits<double>::infinity());
  EXPECT_EQ(less.direction, Direction::kDown);
  EXPECT_EQ(direction_name(less.direction), "down");
}

// Against the definitions: every value as a place to compare at, every pair.
RC_GTEST_PROP(SampleDifference, AsDefined, ()) {
  const auto any = rc::gen::container<std::vector<double>>(
      rc::gen::map(rc::gen::inRange(-20, 20), [](int v) { return v / 4.0; }));
  auto a = *rc::gen::nonEmpty(any);
  auto b = *rc::gen::nonEmpty(any);
  const auto below = [](const std::vector<double>& all, double v) {
    return static_cast<double>(std::ranges::count_if(all, [&](double x) { return x <= v; })) /
           static_cast<double>(all.size());
  };
  double ks = 0, delta = 0;
  for (const auto& all : {a, b})
    for (const double v : all) ks = std::max(ks, std::abs(below(a, v) - below(b, v)));
  for (const double x : a)
    for (const double y : b) delta += y > x ? 1 : y < x ? -1 : 0;
  const auto got = sample_difference(a, b);
  RC_ASSERT(std::abs(got.ks - ks) < 1e-12);
  RC_ASSERT(std::abs(got.cliffs_delta * static_cast<double>(a.size() * b.size()) - delta) < 1e-6);
}

// ---- in a store: 1,000 s before and 250 s after a moment, a point a second unless said otherwise
constexpr std::int64_t kSecond = 1'000'000'000;
constexpr std::int64_t kMoment = 1000 * kSecond;  // since boot
constexpr std::int64_t kEnd = 1250 * kSecond;

class ChangesInAStore : public ::testing::Test {
 protected:
  // Values as a function of the second.
  using Values = std::function<double(int)>;
  SeriesId add(const std::string& name, const Values& values, int spacing = 1,
               metric::Kind kind = metric::Kind::kGauge) {
    codec::SeriesDef def = store::testing::series_def(1, name);
    def.kind = kind;
    const RunId run = RunId::random();
    auto writer = store_.begin(run, {def});
    std::vector<std::pair<std::int64_t, double>> points;
    for (int second = 0; second < 1250; second += spacing)
      points.emplace_back(second * kSecond, values(second));
    store_.append({writer.frame(store::testing::samples(1, points))});
    return store_.series(run, name);
  }
  Changes find(const ChangesRequest& request) {
    const auto found = find_changes(*store_, request);
    EXPECT_TRUE(found) << found.error().message;
    return found.value_or(Changes{});
  }
  static std::vector<SeriesId> ids(const Changes& changes) {
    std::vector<SeriesId> all;
    for (const Change& change : changes.changes) all.push_back(change.series);
    return all;
  }
  double noise() { return std::normal_distribution<double>(0, 1)(random_); }
  static std::int64_t utc(std::int64_t boot) { return boot + store::testing::kUtcMinusBoot; }

  const ChangeWindow window_{.from = utc(kMoment), .to = utc(kEnd)};
  TestStore store_;
  std::mt19937_64 random_{7};
};

TEST_F(ChangesInAStore, TheMostChangedComesFirst) {
  const auto steady = add("steady", [&](int) { return noise(); });
  const auto wider = add("wider", [&](int s) { return noise() * (s < 1000 ? 1 : 6); });
  const auto jump = add("jump", [&](int s) { return noise() + (s < 1000 ? 0 : 20); });
  const auto fall = add("fall", [&](int s) { return noise() - (s < 1000 ? 0 : 2); });
  const auto flat = add("flat", [](int) { return 0.1; });
  const auto few = add(
      "few", [&](int) { return noise(); }, 100);
  const auto found = find({.series = {steady, wider, flat, fall, few, jump}, .window = window_});
  EXPECT_EQ(ids(found), (std::vector{jump, fall, wider, steady}));
  EXPECT_EQ(found.flat, 1U);
  EXPECT_EQ(found.too_few, 1U);
  const auto& first = found.changes[0].difference;
  EXPECT_EQ(first.ks, 1);
  EXPECT_NEAR(first.cohens_d, 20, 2);
  EXPECT_EQ(first.direction, Direction::kUp);
  EXPECT_EQ(first.after.n, 250U);
  EXPECT_EQ(first.before.n, 1000U);
  EXPECT_FALSE(found.changes[0].means);
  EXPECT_EQ(found.changes[1].difference.direction, Direction::kDown);
  EXPECT_EQ(found.changes[2].difference.direction, Direction::kShape);
  EXPECT_LT(found.changes[3].difference.ks, 0.15);
}

TEST_F(ChangesInAStore, OnlyWhatIsInTheWindowsCounts) {
  // Noise but for a spike right before the default window, and one right at its end.
  const auto series = add("x", [&](int s) { return s == 399 || s == 700 ? 1e6 : s % 2; });
  const ChangeWindow part{.from = utc(600 * kSecond), .to = utc(650 * kSecond)};
  EXPECT_EQ(window_before(part).from, utc(400 * kSecond));
  EXPECT_EQ(window_before(part).to, part.from);
  const auto found = find({.series = {series}, .window = part});
  ASSERT_EQ(found.changes.size(), 1U);
  EXPECT_EQ(found.changes[0].difference.before.mean, 0.5);
  EXPECT_EQ(found.changes[0].difference.before.n, 200U);
  EXPECT_EQ(found.changes[0].difference.ks, 0);
  const auto later =
      find({.series = {series},
            .window = part,
            .against = ChangeWindow{.from = utc(650 * kSecond), .to = utc(701 * kSecond)}});
  ASSERT_EQ(later.changes.size(), 1U);
  EXPECT_NEAR(later.changes[0].difference.before.mean, (25 + 1e6) / 51, 1);
}

TEST_F(ChangesInAStore, ManyPointsAreTakenAsMeansOfEqualColumns) {
  const auto series = add("x", [&](int) { return noise(); });
  const auto found = find({.series = {series},
                           .window = {.from = utc(kEnd - 10 * kSecond), .to = utc(kEnd)},
                           .against = ChangeWindow{.from = utc(0), .to = utc(kMoment)}});
  ASSERT_EQ(found.changes.size(), 1U);
  // 1,000 s would be 25,600 columns of the window's length: 1,024 at most.
  EXPECT_EQ(found.changes[0].difference.after.n, 10U);
  EXPECT_EQ(found.changes[0].difference.before.n, 1000U);
  const auto turned = find({.series = {series},
                            .window = {.from = utc(0), .to = utc(kMoment)},
                            .against = ChangeWindow{.from = utc(kMoment), .to = utc(kEnd)}});
  ASSERT_EQ(turned.changes.size(), 1U);
  EXPECT_TRUE(turned.changes[0].means);
  EXPECT_EQ(turned.changes[0].difference.after.n, kChangeColumns);
  EXPECT_EQ(turned.changes[0].difference.before.n, 64U);
  // The mean of four points has half the deviation of one point.
  EXPECT_NEAR(turned.changes[0].difference.after.deviation, 0.5, 0.1);
  EXPECT_NEAR(turned.changes[0].difference.before.deviation, 0.5, 0.15);
}

TEST_F(ChangesInAStore, OfManyPointsSummariesAreRead) {
  const RunId run = RunId::random();
  auto writer = store_.begin(run, {store::testing::series_def(1, "x")});
  std::vector<std::pair<std::int64_t, double>> points;
  for (int i = 0; i < 40'000; ++i) {
    points.emplace_back(i * kSecond, noise() + (i < 30'000 ? 0 : 1));
    if (points.size() < 4000) continue;
    store_.append({writer.frame(store::testing::samples(1, points))});
    points.clear();
  }
  ASSERT_TRUE(store_->seal(true));
  const auto found = find({.series = {store_.series(run, "x")},
                           .window = {.from = utc(30'000 * kSecond), .to = utc(40'000 * kSecond)}});
  ASSERT_EQ(found.changes.size(), 1U);
  EXPECT_TRUE(found.changes[0].means);
  EXPECT_EQ(found.changes[0].difference.after.n, kLeastChangeColumns);
  EXPECT_EQ(found.changes[0].difference.before.n, 3 * kLeastChangeColumns);
  EXPECT_EQ(found.changes[0].difference.ks, 1);
  EXPECT_NEAR(found.changes[0].difference.after.mean, 1, 0.05);
}

TEST_F(ChangesInAStore, CountersAreRates) {
  double sum = 0;
  const auto counter = add(
      "bytes", [&](int s) { return sum += s < 1000 ? 10 + s % 3 : 30 + s % 3; }, 1,
      metric::Kind::kCounter);
  const auto found = find({.series = {counter}, .window = window_});
  ASSERT_EQ(found.changes.size(), 1U);
  EXPECT_TRUE(found.changes[0].rate);
  EXPECT_NEAR(found.changes[0].difference.before.mean, 11, 0.01);
  EXPECT_NEAR(found.changes[0].difference.after.mean, 31, 0.01);
}

TEST_F(ChangesInAStore, AgainstABaseline) {
  const auto run = add("loss", [&](int) { return 5 + noise(); });
  const auto other = add("loss", [&](int s) { return noise() + (s < 500 ? 5 : 0); });
  const auto alone = add("x", [&](int) { return noise(); });
  ChangesRequest request{
      .series = {alone, run},
      .window = window_,
      .baseline = {{.series = run,
                    .against = other,
                    .window = {.from = utc(600 * kSecond), .to = utc(900 * kSecond)}}}};
  const auto found = find(request);
  EXPECT_EQ(ids(found), (std::vector{run, alone}));
  EXPECT_NEAR(found.changes[0].difference.before.mean, 0, 0.3);
  EXPECT_NEAR(found.changes[0].difference.cohens_d, 5, 0.6);
  EXPECT_EQ(found.changes[0].difference.before.n, 300U);

  request.baseline[0].series = SeriesId{4711};
  EXPECT_EQ(find_changes(*store_, request).error().code, Code::kInvalidArgument);
  const auto counter = add(
      "n", [](int s) { return s; }, 1, metric::Kind::kCounter);
  request.baseline[0] = {.series = run, .against = counter, .window = window_};
  EXPECT_EQ(find_changes(*store_, request).error().code, Code::kInvalidArgument);
}

TEST_F(ChangesInAStore, EachSeriesHasItsOwnZero) {
  const auto early = add("a", [&](int s) { return noise() + (s >= 500 && s < 550 ? 9 : 0); });
  const auto late = add("b", [&](int s) { return noise() + (s >= 800 && s < 850 ? 9 : 0); });
  const ChangeWindow relative{.from = 100 * kSecond, .to = 150 * kSecond};
  const auto found = find({.series = {early, late},
                           .origins = {utc(400 * kSecond), utc(700 * kSecond)},
                           .window = relative});
  ASSERT_EQ(found.changes.size(), 2U);
  for (const Change& change : found.changes) EXPECT_GT(change.difference.ks, 0.98);
}

TEST_F(ChangesInAStore, RefusesWhatMeansNothing) {
  const auto series = add("x", [](int) { return 1; });
  EXPECT_EQ(find_changes(*store_, {.series = {SeriesId{4711}}, .window = window_}).error().code,
            Code::kNotFound);
  EXPECT_EQ(
      find_changes(*store_, {.series = {series}, .window = {.from = 5, .to = 5}}).error().code,
      Code::kInvalidArgument);
  EXPECT_EQ(find_changes(*store_, {.series = {series}, .origins = {1, 2}, .window = window_})
                .error()
                .code,
            Code::kInvalidArgument);
}

TEST(WindowBefore, EndsWithTime) {
  constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();
  EXPECT_EQ(window_before({.from = 100, .to = 110}).from, 60);
  EXPECT_EQ(window_before({.from = kLeast + 3, .to = kLeast + 9}).from, kLeast);
  EXPECT_EQ(window_before({.from = 0, .to = std::numeric_limits<std::int64_t>::max()}).from,
            kLeast);
}

}  // namespace
}  // namespace corral::analyze
