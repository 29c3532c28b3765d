#include "analyze/explain/interest.h"

#include <gtest/gtest.h>

#include <cmath>
#include <utility>

#include "analyze/explain/test_series.h"
#include "query/series/test_store.h"

namespace corral::analyze {
namespace {

constexpr std::int64_t kMilli = 1'000'000;

class InterestOfAStore : public ::testing::Test {
 protected:
  using Points = std::vector<std::pair<std::int64_t, double>>;
  static constexpr std::int64_t kSeconds = 600;

  InterestOfAStore()
      : writer_(store_.begin(run_, {def(1, "load"), def(2, "mirror"), def(3, "flat"), def(4, "hum"),
                                    def(5, "few"), def(6, "bytes", metric::Kind::kCounter)})) {}

  static codec::SeriesDef def(std::uint32_t id, const std::string& name,
                              metric::Kind kind = metric::Kind::kGauge) {
    codec::SeriesDef made = store::testing::series_def(id, name);
    made.kind = kind;
    return made;
  }
  // Once a second; the load jumps at 200 s.
  void fill() {
    testing::SeriesMaker make(5);
    Points load, mirror, flat, hum, bytes;
    double sum = 0;
    for (std::int64_t s = 0; s <= kSeconds; ++s) {
      const std::int64_t time = 1000 * s * kMilli + kMilli;
      const double value = make.normal() + (s < 200 ? 10 : 30);
      load.emplace_back(time, value);
      mirror.emplace_back(time, 5 - 2 * value);
      flat.emplace_back(time, 7.1);
      hum.emplace_back(time, make.normal());
      bytes.emplace_back(time, sum += s < 400 ? 1000 : 3000);
    }
    append(1, load);
    append(2, mirror);
    append(3, flat);
    append(4, hum);
    append(5, {load[3], load[9]});
    append(6, bytes);
  }
  void append(std::uint32_t series, const Points& points) {
    store_.append({writer_.frame(store::testing::samples(series, points))});
  }
  // Steps of 2 s, from 300 s on of 3 s.
  void add_steps() {
    std::vector<codec::PhaseRecord> phases;
    std::uint64_t id = 0;
    for (std::int64_t s = 0; s < kSeconds - 3;) {
      const std::int64_t end = s + (s < 300 ? 2 : 3);
      phases.emplace_back();
      phases.back().id = ++id;
      phases.back().begin = boot_time(1000 * s * kMilli);
      phases.back().end = boot_time(1000 * end * kMilli);
      phases.back().name = phases.back().type = "step";
      phases.back().lane = "h/1/main";
      s = end;
    }
    store_.append({writer_.frame(codec::PhasesBody{.phases = phases})});
  }
  Interest find(InterestOptions options = {}) {
    const auto run = (*store_).run(run_);
    return find_interest(*store_, **run, options).value();
  }
  static const SeriesInterest& of(const Interest& found, std::string_view metric) {
    const auto one = std::ranges::find(found.series, metric, &SeriesInterest::metric);
    EXPECT_NE(one, found.series.end()) << metric;
    return *one;
  }
  static UtcTime at(std::int64_t second) { return store::testing::utc(1000 * second * kMilli); }

  query::testing::TestStore store_;
  RunId run_ = RunId::random();
  store::testing::SessionWriter writer_;
};

TEST_F(InterestOfAStore, SeriesAreClassedFoldedAndSorted) {
  fill();
  const Interest found = find();
  EXPECT_FALSE(found.columns.unit);
  EXPECT_EQ(found.columns.size(), kInterestColumns);
  ASSERT_EQ(found.series.size(), 6U);
  EXPECT_EQ(of(found, "load").shape.type, SeriesClass::kSteps);
  EXPECT_EQ(of(found, "mirror").shape.type, SeriesClass::kDuplicate);
  EXPECT_EQ(found.series.at(of(found, "mirror").of.value()).metric, "load");
  EXPECT_EQ(of(found, "flat").shape.type, SeriesClass::kConstant);
  EXPECT_EQ(of(found, "hum").shape.type, SeriesClass::kNoise);
  EXPECT_EQ(of(found, "few").shape.type, SeriesClass::kFew);
  EXPECT_EQ(of(found, "bytes").shape.type, SeriesClass::kSteps) << "of its rate";
  EXPECT_EQ(of(found, "hum").interest, 0);
  EXPECT_GE(of(found, "load").interest, 0.6);
  EXPECT_FALSE(of(found, "load").step_correlation) << "there are no steps";
  EXPECT_EQ(found.series[2].metric, "hum") << "the first that are folded come after it";
  EXPECT_EQ(found.left_out, 0U);

  ASSERT_EQ(found.regions.size(), 2U);
  std::vector<UtcTime> begins = {found.regions[0].window.from, found.regions[1].window.from};
  std::ranges::sort(begins);
  EXPECT_NEAR(seconds(begins[0] - at(200)), 0, 2);
  EXPECT_NEAR(seconds(begins[1] - at(400)), 0, 2);
  for (const Region& region : found.regions)
    EXPECT_EQ(region.moved.size(), 1U) << "a duplicate says nothing more: " << region.text;
}

TEST_F(InterestOfAStore, ColumnsAreStepsWhereThereAreSome) {
  fill();
  add_steps();
  const Interest found = find();
  EXPECT_EQ(found.columns.unit, Unit::kStep);
  EXPECT_EQ(found.columns.units_in_column, 1U);
  EXPECT_EQ(found.columns.size(), 248U) << "the first began before the run";
  const SeriesInterest& steps = of(found, "step time");
  EXPECT_FALSE(steps.id);
  EXPECT_EQ(steps.shape.type, SeriesClass::kSteps);
  ASSERT_EQ(steps.shape.jumps.jumps.size(), 1U);
  EXPECT_EQ(found.columns.borders[steps.shape.jumps.jumps[0].at], at(300));
  EXPECT_NEAR(steps.shape.jumps.jumps[0].after, 3, 1e-9);
  EXPECT_GE(of(found, "load").step_correlation.value(), 0.5) << "both are higher after 300 s";
  EXPECT_LE(std::abs(of(found, "hum").step_correlation.value()), 0.25);
}

TEST_F(InterestOfAStore, AWindowHasOnlyWhatLiesInIt) {
  fill();
  const Interest found = find({.from = at(210), .to = at(390)});
  EXPECT_TRUE(found.regions.empty());
  EXPECT_EQ(of(found, "load").shape.type, SeriesClass::kNoise);
  EXPECT_EQ(of(found, "bytes").shape.type, SeriesClass::kConstant);
  const auto run = (*store_).run(run_);
  const auto empty = find_interest(*store_, **run, {.from = at(9), .to = at(9)});
  EXPECT_EQ(empty.error().code, Code::kInvalidArgument);
}

InterestColumns columns_of(const Timeline& timeline, Window window) {
  return find_training_units(timeline, find_leaves(timeline, window), {}, window).columns;
}

TEST(TrainingUnits, ManyStepsShareAColumnAndFewAreNone) {
  const auto laid = [](std::int64_t steps) {
    Timeline timeline;
    for (std::int64_t i = 0; i < steps; ++i)
      timeline.add({.begin = utc_time(10 * i),
                    .end = utc_time(10 * i + 8),
                    .name = "step",
                    .type = "step",
                    .lane = "h/1/main"});
    timeline.arrange(utc_time(10 * steps));
    return columns_of(timeline, {.from = utc_time(0), .to = utc_time(10 * steps)});
  };
  EXPECT_EQ(laid(63).unit, std::nullopt);
  EXPECT_EQ(laid(64).size(), 64U);
  const InterestColumns many = laid(2500);
  EXPECT_EQ(many.units_in_column, 3U);
  EXPECT_EQ(many.size(), 834U);
  EXPECT_EQ(many.borders[1], utc_time(30));
  EXPECT_EQ(many.borders.back(), utc_time(24'998));
  EXPECT_DOUBLE_EQ(many.unit_seconds[833], 8e-9);
  EXPECT_EQ(columns_of(Timeline(), {.from = UtcTime::min(), .to = UtcTime::max()}).size(),
            kInterestColumns);
  EXPECT_EQ(columns_of(Timeline(), {.from = utc_time(0), .to = utc_time(3)}).size(), 3U);
}

}  // namespace
}  // namespace corral::analyze
