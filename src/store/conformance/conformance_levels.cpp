// Tests that sealing keeps every point of every level, bit by bit.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <random>

#include "codec/block/column.h"
#include "codec/block/pyramid.h"
#include "store/conformance/conformance_levels.h"

namespace corral::store {

using testing::series_def;
using testing::SessionWriter;

codec::SamplesBody body_of(const std::vector<LevelRow>& rows) {
  codec::SampleGroup group;
  for (std::size_t series = 0; series < rows.at(0).values.size(); ++series) {
    codec::Column column;
    column.series = static_cast<std::uint32_t>(series + 1);
    for (const LevelRow& row : rows) column.values.push_back(row.values[series]);
    group.columns.push_back(std::move(column));
  }
  for (const LevelRow& row : rows) {
    group.times.push_back(boot_time(row.time));
    group.steps.push_back(row.step);
  }
  return {.groups = {group}};
}

namespace {

std::vector<LevelRow> rows_from(std::int64_t time, std::int64_t step, std::size_t count) {
  std::minstd_rand random(static_cast<unsigned>(time + step));
  std::vector<LevelRow> rows;
  double energy = static_cast<double>(step);
  for (std::size_t i = 0; i < count; ++i) {
    energy += static_cast<double>(random() % 1000) / 1000;
    rows.push_back({.time = time + static_cast<std::int64_t>(i) * 100'000'000 +
                            static_cast<std::int64_t>(random() % 200'000),
                    .step = step + static_cast<std::int64_t>(i),
                    .values = {static_cast<double>(random() % 101), energy,
                               std::sin(static_cast<double>(i)) * 1e-3}});
  }
  return rows;
}

codec::SchemaBody three_series() {
  codec::SchemaBody schema{
      .series = {series_def(1, "s1"), series_def(2, "s2"), series_def(3, "s3")}};
  schema.series[1].kind = metric::Kind::kCounter;
  return schema;
}

// Values that compress to next to nothing: the size of a plan is bounded by the decoded size.
TEST_P(StoreLevels, FramesThatDecodeToFarMoreThanTheyTakeAreSealed) {
  const RunId run = RunId::random();
  SessionWriter writer;
  codec::SchemaBody schema;
  for (std::uint32_t i = 1; i <= 64; ++i)
    schema.series.push_back(series_def(i, "s" + std::to_string(i)));
  append({writer.frame(testing::session_body(run)), writer.frame(schema)});
  std::int64_t time = 0;
  for (int frame = 0; frame < 70; ++frame) {
    codec::SampleGroup group;
    for (int row = 0; row < 8000; ++row) group.times.push_back(boot_time(time += 1000));
    for (std::uint32_t i = 1; i <= 64; ++i)
      group.columns.push_back({.series = i, .present = {}, .values = std::vector<double>(8000, i)});
    append({writer.frame(codec::SamplesBody{.groups = {std::move(group)}})});
  }
  const auto sealed = store_->seal(false);
  ASSERT_TRUE(sealed) << sealed.error().message;
  for (const char* name : {"s1", "s64"}) EXPECT_EQ(only_series(run, name).points, 560'000);
}

TEST_P(StoreLevels, MergingKeepsTheOrderOfArrival) {
  const RunId run = RunId::random();
  SessionWriter writer;
  begin(writer, run);
  append({writer.frame(three_series())});
  const auto add = [&](std::vector<std::pair<std::int64_t, double>> points) {
    append({writer.frame(testing::samples(1, std::move(points)))});
    ASSERT_TRUE(store_->seal(false));
  };
  add({{50'000, 1.0}});
  std::vector<std::pair<std::int64_t, double>> many;
  for (std::int64_t i = 0; i < 5000; ++i) many.emplace_back(40'000 + i * 10, 2.0);
  add(many);
  for (std::int64_t k = 0; k < 20; ++k) add({{1'000'000 + k, 9.0}});
  std::vector<double> found;
  const SeriesId series = only_series(run, "s1").id;
  ASSERT_TRUE(reader_of(*store_).view(std::array{series}, [&](PointView& view) -> Result<> {
    for (const Chunk& chunk : view.recent(series)) {
      for (std::size_t i = 0; i < chunk.values.size(); ++i)
        if ((*chunk.times)[i] == ns_of(testing::utc(50'000))) found.push_back(chunk.values[i]);
    }
    return {};
  }));
  EXPECT_EQ(found, (std::vector<double>{1.0, 2.0}));
}

TEST_P(StoreLevels, EveryPointSurvivesTheWayToBlocks) {
  const RunId run = RunId::random();
  SessionWriter writer;
  begin(writer, run);
  append({writer.frame(three_series())});
  log(writer, rows_from(1'000'000, 0, 20'000));
  expect_all(run);
  reopen();
  expect_all(run);
  const std::int64_t blocks = std::get<1>(GetParam()) == Sealing::kLater ? 0 : 2;
  EXPECT_EQ(blocks_of(only_series(run, "s1").id), blocks);
}

TEST_P(StoreLevels, StrangeValuesLatePointsAndStepsThatGoBackAreKept) {
  const RunId run = RunId::random();
  SessionWriter writer;
  begin(writer, run);
  append({writer.frame(three_series())});
  auto rows = rows_from(10'000'000'000'000, 5'000, 9'000);
  rows[1].values = {-0.0, std::numeric_limits<double>::infinity(),
                    std::bit_cast<double>(0x7FF8'0000'DEAD'BEEF)};
  rows[2].values = {std::numeric_limits<double>::denorm_min(),
                    -std::numeric_limits<double>::infinity(), 0x1p53};
  log(writer, rows);
  log(writer, rows_from(9'000'000'000'000, -100, 3'000));  // the clock was set back, and a resume
  log(writer, rows_from(10'000'000'000'000, 0, 9'000));    // several values at one time
  expect_all(run);
}

TEST_P(StoreLevels, AResendLongAfterSealingChangesNothing) {
  const RunId run = RunId::random();
  SessionWriter writer;
  begin(writer, run);
  append({writer.frame(three_series())});
  const auto rows = rows_from(1'000'000, 0, 900);
  const codec::Frame early = writer.frame(body_of(rows));
  append({early});
  for (const LevelRow& row : rows) {
    for (std::size_t series = 0; series < 3; ++series)
      expected_[series].push_back({.time = ns_of(testing::utc(row.time)),
                                   .step = row.step,
                                   .bits = std::bit_cast<std::uint64_t>(row.values[series])});
  }
  log(writer, rows_from(200'000'000'000, 900, 17'000));
  const auto again = append({early});
  EXPECT_TRUE(again.refusals.empty());
  expect_all(run);
}

TEST_P(StoreLevels, SessionsThatFeedOneSeriesAllKeepTheirPoints) {
  const RunId run = RunId::random();
  SessionWriter one;
  SessionWriter two;
  for (SessionWriter* writer : {&one, &two}) {
    begin(*writer, run);
    append({writer->frame(three_series())});
  }
  for (std::int64_t part = 0; part < 5; ++part) {
    log(one, rows_from(part * 1'000'000'000'000 + 1, part * 2'000, 2'000));
    log(two, rows_from(part * 1'000'000'000'000 + 50'000'000, part * 3'000, 2'000));
  }
  expect_all(run);
}

TEST_P(StoreLevels, ThePyramidSaysWhatTheBlocksHold) {
  const RunId run = RunId::random();
  SessionWriter writer;
  begin(writer, run);
  append({writer.frame(three_series())});
  log(writer, rows_from(1'000'000, 0, 75'000));  // nine blocks: a full row of tier 0, and one more
  const SeriesId series = only_series(run, "s3").id;
  ASSERT_TRUE(reader_of(*store_).view(std::array{series}, [&](PointView& view) -> Result<> {
    std::int64_t points = 0;
    for (std::int64_t no = 0; no * 8 < view.block_count(series); ++no) {
      const auto row = TRY(view.pyramid(series, Channel::kValue, 0, no));
      for (std::size_t i = 0; i < row->lower.size(); ++i) {
        std::array<double, codec::kBucketPoints> values;
        std::array<std::int64_t, codec::kBucketPoints> times, steps;
        const auto block = TRY(view.block(series, no * 8 + static_cast<std::int64_t>(i / 32)));
        const std::size_t first = i % 32 * codec::kBucketPoints;
        TRY(block->values(first, values));
        TRY(block->times(first, times));
        TRY(block->steps(first, steps));
        EXPECT_EQ(row->lower[i], codec::make_bucket(times, steps, values)) << no << " " << i;
        points += row->lower[i].count;
      }
    }
    EXPECT_EQ(points, view.block_count(series) * 8192);
    if (view.block_count(series) > 0) {
      const auto above = TRY(view.pyramid(series, Channel::kValue, 1, 0));
      EXPECT_EQ(above->lower.size(), 16U);
      EXPECT_EQ(above->lower[0].count, 4096U);
      EXPECT_FALSE(view.pyramid(series, Channel::kRate, 0, 0)) << "no counter";
    }
    return {};
  }));
}

}  // namespace
}  // namespace corral::store
