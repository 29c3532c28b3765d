// Pyramid rows and row groups of version 1 as they were when version 1 was made
// (tests/golden/pyramid-row-v1.bin, row-group-v1.bin): they are read for ever.
//
// CORRAL_UPDATE_GOLDEN=1 rewrites the files; that is right only while version 1 has never been
// released.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <iterator>

#include "codec/block/pyramid.h"
#include "codec/block/row_group.h"
#include "codec/block/test_pyramids.h"
#include "core/test_paths.h"

namespace corral::codec {
namespace {

using Bytes = std::vector<std::uint8_t>;

constexpr std::int64_t kStart = 1'763'710'530'000'000'000;

std::int64_t tick(std::size_t i) {
  const auto n = static_cast<std::int64_t>(i);
  return kStart + n * 100'000'000 + n * n * 7919 % 1000 * 1000;
}
double watts(std::size_t i) {
  return static_cast<double>(200'000 + i * i * 104'729 % 50'021) / 1000;
}

// 70 lower and 17 upper buckets: of 256 points but for the last; with values that are not finite;
// with steps, falling ones too; a third without.
PyramidRow row() {
  PyramidRow made;
  for (std::size_t b = 0; b < 70; ++b) {
    testing::Points points;
    for (std::size_t i = b * 256; i < b * 256 + (b == 69 ? 11 : 256); ++i) {
      points.times.push_back(tick(i));
      points.values.push_back(watts(i));
      if (b % 3 != 0) points.steps.push_back(static_cast<std::int64_t>(b == 7 ? 10'000 - i : i));
    }
    if (b == 2) points.values[0] = std::nan("");
    if (b == 3) points.values[200] = HUGE_VAL;
    if (b == 4) points.values.assign(256, -HUGE_VAL);
    if (b == 5) points.values[255] = -0.0;
    extend_row(made, std::vector<Bucket>{testing::bucket_of(points)});
  }
  return made;
}

SamplingGroup group(std::vector<std::int64_t> series, std::size_t points, bool steps) {
  SamplingGroup made;
  for (std::size_t i = 0; i < points; ++i) {
    made.times.push_back(tick(i));
    if (steps) made.steps.push_back(static_cast<std::int64_t>(i / 2) - 5);
  }
  for (const std::int64_t id : series) {
    auto& column = made.columns.emplace_back();
    column.series = SeriesId{id};
    for (std::size_t i = 0; i < points; ++i)
      column.values.push_back(watts(i + static_cast<std::size_t>(id % 100)));
    if (id == 8) column.values[0] = -0.0;
  }
  return made;
}
std::vector<SamplingGroup> groups() {
  return {group({7, 8, 4000, 5'000'000'000}, 40, false), group({8, 9}, 30, true),
          group({12, 13, 70'000}, 3000, false)};
}

Bytes stored(const std::string& name) {
  std::ifstream in(golden_dir() + "/" + name, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}
void store(const std::string& name, const std::string& bytes) {
  std::ofstream(golden_dir() + "/" + name, std::ios::binary) << bytes;
}

class RowGolden : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    if (std::getenv("CORRAL_UPDATE_GOLDEN") == nullptr) return;
    store("pyramid-row-v1.bin", encode_pyramid_row(row()));
    store("row-group-v1.bin", encode_row_group(groups(), Effort::kFast));
  }
};

TEST_F(RowGolden, ARowOfThePyramidIsReadAsItWasMeant) {
  const Bytes bytes = stored("pyramid-row-v1.bin");
  const PyramidRow meant = row();
  EXPECT_EQ(decode_pyramid_row(bytes).value(), meant);
  EXPECT_TRUE(std::signbit(decode_lower(bytes).value()[5].last));
  const Bucket bucket = decode_upper(bytes).value().at(1);
  EXPECT_EQ(bucket.count, 1024u);
  EXPECT_EQ(bucket.negative_infinity, 256u);
  EXPECT_EQ(bucket.t0, tick(1024));
  EXPECT_EQ(bucket.first, watts(1280));
  EXPECT_EQ(bucket.first_at, 256u);
}

TEST_F(RowGolden, ARowGroupIsReadAsItWasMeant) {
  const Bytes bytes = stored("row-group-v1.bin");
  EXPECT_EQ(decode_row_group(bytes).value(), groups());
  const RowGroupPart part = read_row_group(bytes, std::vector{SeriesId{8}}).value();
  ASSERT_EQ(part.groups.size(), 2u);
  EXPECT_TRUE(std::signbit(part.groups[0].columns.at(0).values[0]));
  EXPECT_EQ(part.groups[1].steps.back(), 9);
}

}  // namespace
}  // namespace corral::codec
