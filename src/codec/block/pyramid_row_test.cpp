#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <cstring>
#include <random>

#include "codec/block/test_pyramids.h"
#include "codec/crc32c.h"

namespace corral::codec {
namespace {

using Bytes = std::vector<std::uint8_t>;
using testing::any_points;

Bytes encoded(const PyramidRow& row) {
  const std::string text = encode_pyramid_row(row);
  return {text.begin(), text.end()};
}
bool same_bits(const std::vector<Bucket>& a, const std::vector<Bucket>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const Bucket& x, const Bucket& y) { return testing::same_bits(x, y); });
}
bool same_bits(const PyramidRow& a, const PyramidRow& b) {
  return same_bits(a.lower, b.lower) && same_bits(a.upper, b.upper);
}

// Power with three decimals at 10 Hz, times in whole µs.
PyramidRow watts(std::size_t buckets) {
  std::mt19937 random(7);
  std::normal_distribution<double> noise(0, 1);
  PyramidRow row;
  std::int64_t tick = 1'763'710'530'000'000;
  for (std::size_t i = 0; i < buckets; ++i) {
    testing::Points points;
    for (int k = 0; k < 256; ++k, tick += 100'000) {
      points.times.push_back((tick + std::llround(200 * noise(random))) * 1000);
      points.values.push_back(static_cast<double>(std::llround(250'000 + 20'000 * noise(random))) /
                              1000);
    }
    extend_row(row, std::vector<Bucket>{testing::bucket_of(points)});
  }
  return row;
}
PyramidRow mixed() {
  PyramidRow row;
  const double nan = std::nan("");
  const std::vector<std::int64_t> times{10, 20, 30};
  const std::vector<std::int64_t> steps{1, 2, 2};
  extend_row(row, std::vector<Bucket>{
                      make_bucket(times, steps, std::vector<double>{nan, 2.5, nan}),
                      make_bucket(times, {}, std::vector<double>{nan, nan, nan}),
                      make_bucket(times, std::vector<std::int64_t>{9, 2, 4},
                                  std::vector<double>{-0.0, 1, HUGE_VAL}),
                      make_bucket(std::vector<std::int64_t>{7}, {}, std::vector<double>{1e308}),
                  });
  return row;
}

TEST(PyramidRow, AnEmptyRowIsARow) {
  EXPECT_EQ(decode_pyramid_row(encoded({})).value(), PyramidRow{});
}

TEST(PyramidRow, AFullRowComesBack) {
  const PyramidRow row = watts(256);
  ASSERT_EQ(row.upper.size(), kUpperBuckets);
  const Bytes bytes = encoded(row);
  EXPECT_TRUE(same_bits(decode_pyramid_row(bytes).value(), row));
  EXPECT_TRUE(same_bits(decode_lower(bytes).value(), row.lower));
  EXPECT_TRUE(same_bits(decode_upper(bytes).value(), row.upper));
}

RC_GTEST_PROP(PyramidRow, EveryRowComesBackToTheLastBit, ()) {
  PyramidRow row;
  const std::size_t buckets = *rc::gen::inRange<std::size_t>(0, 12);
  for (std::size_t i = 0; i < buckets; ++i)
    extend_row(row, std::vector<Bucket>{testing::bucket_of(any_points(*rc::gen::inRange(1, 20)))});
  const Bytes bytes = encoded(row);
  RC_ASSERT(same_bits(decode_pyramid_row(bytes).value(), row));
  RC_ASSERT(same_bits(decode_lower(bytes).value(), row.lower));
  RC_ASSERT(same_bits(decode_upper(bytes).value(), row.upper));
}

TEST(PyramidRow, EveryChangedByteIsFound) {
  for (const PyramidRow& row : {mixed(), watts(5)}) {
    const Bytes good = encoded(row);
    for (std::size_t i = 0; i < good.size(); ++i) {
      for (const int change : {0x01, 0x80, 0xFF}) {
        Bytes bad = good;
        bad[i] = static_cast<std::uint8_t>(bad[i] ^ change);
        const auto decoded = decode_pyramid_row(bad);
        ASSERT_FALSE(decoded.has_value()) << i;
        EXPECT_TRUE(decoded.error().code == Code::kCorruption ||
                    decoded.error().code == Code::kUnsupported);
      }
    }
  }
}

TEST(PyramidRow, EveryShorterOrLongerRowIsFound) {
  const Bytes good = encoded(mixed());
  for (std::size_t size = 0; size < good.size(); ++size)
    EXPECT_FALSE(decode_pyramid_row(std::span(good).first(size)).has_value()) << size;
  Bytes longer = good;
  longer.push_back(0);
  EXPECT_EQ(decode_pyramid_row(longer).error().code, Code::kCorruption);
}

TEST(PyramidRow, DamageOfOneLevelLeavesTheOther) {
  const PyramidRow row = watts(8);
  Bytes bytes = encoded(row);
  bytes.back() ^= 1;
  EXPECT_FALSE(decode_upper(bytes).has_value());
  EXPECT_EQ(decode_lower(bytes).value(), row.lower);
}

TEST(PyramidRow, ANewerVersionIsUnsupported) {
  Bytes bytes = encoded(mixed());
  bytes[0] = 2;
  EXPECT_EQ(decode_pyramid_row(bytes).error().code, Code::kUnsupported);
}

// A row whose first level begins with these lists, all checksums right.
Bytes with_lists(std::uint16_t buckets, const Bytes& lists) {
  const auto put = [](Bytes& to, const auto& value) {
    const std::size_t at = to.size();
    to.resize(at + sizeof value);
    std::memcpy(to.data() + at, &value, sizeof value);
  };
  Bytes level = lists;
  put(level, crc32c(lists.data(), lists.size()));
  Bytes row{1, 0};
  put(row, buckets);
  put(row, std::uint16_t{0});
  put(row, static_cast<std::uint32_t>(level.size()));
  put(row, std::uint32_t{0});
  put(row, crc32c(row.data(), row.size()));
  row.insert(row.end(), level.begin(), level.end());
  return row;
}

TEST(PyramidRow, HostileListsAreErrors) {
  const Bytes wide{33, 0, 0, 0, 0, 0};
  const Bytes minimum_behind_the_end{8, 5, 8, 5, 0, 0, 0, 0, 0, 0, 0};
  const Bytes more_nan_than_points{8, 5, 0, 0, 0, 0, 8, 6, 0, 0, 0};
  const Bytes unknown_steps{8, 5, 0, 0, 0, 0, 0, 0, 0, 2, 3};
  const Bytes position_of_nothing{8, 5, 8, 1, 0, 0, 0, 8, 5, 0, 0, 0};
  for (const Bytes& lists :
       {wide, minimum_behind_the_end, more_nan_than_points, unknown_steps, position_of_nothing}) {
    const auto decoded = decode_lower(with_lists(1, lists));
    ASSERT_FALSE(decoded.has_value());
    EXPECT_EQ(decoded.error().code, Code::kCorruption);
  }
  EXPECT_NE(decode_lower(with_lists(1, minimum_behind_the_end)).error().message.find("counts"),
            std::string::npos);
  EXPECT_EQ(decode_lower(with_lists(257, wide)).error().code, Code::kCorruption);
}

}  // namespace
}  // namespace corral::codec
