#include "analyze/explain/regions.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace corral::analyze {
namespace {

RegionColumns hours(std::size_t columns) {
  RegionColumns made{.borders = {}, .start = utc_time(0)};
  for (std::size_t i = 0; i <= columns; ++i)
    made.borders.push_back(UtcTime(std::chrono::minutes(i)));
  return made;
}

JumpingSeries disk(std::size_t at, std::size_t length) {
  return {.metric = "host.disk.busy",
          .source = "sda",
          .unit = "share",
          .jumps = {.jumps = {{.at = at, .before = 0.03, .after = 0.97, .length = length}},
                    .deviation = 0.05}};
}
JumpingSeries other(std::size_t at, double deviation) {
  return {.metric = "loss",
          .source = "",
          .unit = "",
          .jumps = {.jumps = {{.at = at, .before = 2, .after = 1, .length = 3}},
                    .deviation = deviation}};
}

TEST(FindRegions, JumpsTogetherAreOneRegionAndTheGreatestIsNamed) {
  const auto found =
      find_regions(std::vector{other(13, 0.5), disk(12, 48), other(30, 0.5)}, hours(60));
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].text,
            "From 12 min on, host.disk.busy of sda rose from 3 % to 97 %, and 1 other metric "
            "changed.");
  EXPECT_TRUE(found[0].to_end);
  ASSERT_EQ(found[0].moved.size(), 2U);
  EXPECT_EQ(found[0].moved[0].series, 1U);
  EXPECT_EQ(found[0].moved[1].series, 0U);
  EXPECT_EQ(found[0].moved[1].at, UtcTime(std::chrono::minutes(13)));
  EXPECT_DOUBLE_EQ(found[0].score, 2 * found[0].moved[0].score);
  EXPECT_EQ(found[1].text, "From 30 min to 33 min, loss fell from 2 to 1.");
  EXPECT_EQ(found[1].window.to, UtcTime(std::chrono::minutes(33)));
}

TEST(FindRegions, TheTenHighestAreKept) {
  std::vector<JumpingSeries> series;
  for (std::size_t i = 0; i < 20; ++i)
    series.push_back(other(3 * i + 3, 1.0 / static_cast<double>(i + 1)));
  const auto found = find_regions(series, hours(80));
  ASSERT_EQ(found.size(), kMostRegions);
  EXPECT_EQ(found.front().moved.front().series, 19U);
  EXPECT_EQ(found.back().moved.front().series, 10U);
  EXPECT_TRUE(find_regions({}, hours(1)).empty());
}

TEST(FindRegions, WithinTwoSecondsIsTogether) {
  RegionColumns columns{.borders = {}, .start = utc_time(0)};
  for (int i = 0; i <= 500; ++i)
    columns.borders.push_back(UtcTime(std::chrono::milliseconds(500 * i)));
  EXPECT_EQ(find_regions(std::vector{disk(20, 10), other(24, 1)}, columns).size(), 1U);
  EXPECT_EQ(find_regions(std::vector{disk(20, 10), other(25, 1)}, columns).size(), 2U);
  columns.borders.resize(101);
  EXPECT_EQ(find_regions(std::vector{disk(20, 10), other(24, 1)}, columns).size(), 2U)
      << "2 s are a lot of 50 s";
}

TEST(FindRegions, TheEndsOfTimeAreNoTrouble) {
  RegionColumns columns{.borders = {UtcTime::min()}, .start = UtcTime::min()};
  for (int i = 1; i < 40; ++i)
    columns.borders.push_back(utc_time(std::numeric_limits<std::int64_t>::min() / 20 * (20 - i)));
  columns.borders.push_back(UtcTime::max());
  const auto found = find_regions(std::vector{disk(12, 28)}, columns);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_TRUE(found[0].text.starts_with("From 1537228 h ")) << found[0].text;
}

TEST(JumpScore, IsBoundWhereNothingVaries) {
  const Jump jump{.at = 1, .before = 0, .after = 1, .length = 9};
  EXPECT_DOUBLE_EQ(jump_score(jump, 0), 50 * std::log(10));
  EXPECT_DOUBLE_EQ(jump_score(jump, 0.5), 2 * std::log(10));
  EXPECT_EQ(jump_score({.at = 1, .before = 1000, .after = 1004, .length = 9}, 0.1), 0)
      << "nobody cares";
}

TEST(TextsOfRegions, AreForPeople) {
  EXPECT_EQ(time_into_run(1.5), "1.5 s");
  EXPECT_EQ(time_into_run(90), "90 s");
  EXPECT_EQ(time_into_run(720), "12 min");
  EXPECT_EQ(time_into_run(12'000), "3 h 20 min");
  EXPECT_EQ(value_with_unit(0.03, "share"), "3 %");
  EXPECT_EQ(value_with_unit(1.5 * 1024 * 1024 * 1024, "B/s"), "1.5 GiB/s");
  EXPECT_EQ(value_with_unit(0.25, ""), "0.25");
  EXPECT_EQ(value_with_unit(2.5, "cores"), "2.5 cores");
  EXPECT_EQ(value_with_unit(40, "1/s"), "40/s");
}

}  // namespace
}  // namespace corral::analyze
