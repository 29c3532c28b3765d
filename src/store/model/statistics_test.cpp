// Slice statistics: what is put in comes out, whole or not at all.
#include "store/model/statistics.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <array>
#include <bit>
#include <limits>
#include <tuple>

#include "codec/block/column.h"
#include "codec/crc32c.h"

namespace corral::store {
namespace {

std::span<const std::uint8_t> bytes_of(const std::string& text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

double any_real() {
  return *rc::gen::element(0.0, -0.0, 0.5, -3e300, 1e-310, 7.25,
                           std::numeric_limits<double>::infinity(),
                           std::numeric_limits<double>::quiet_NaN());
}
std::int64_t any_integer() {
  return *rc::gen::oneOf(rc::gen::arbitrary<std::int64_t>(), rc::gen::inRange<std::int64_t>(0, 9));
}
std::optional<std::int64_t> any_step() {
  return *rc::gen::arbitrary<bool>() ? std::optional(any_integer()) : std::nullopt;
}

SeriesDelta any_series() {
  SeriesDelta s;
  s.points = any_integer();
  s.nan = any_integer();
  s.first_time = any_integer();
  s.last_time = any_integer();
  s.first_step = any_step();
  s.sum = any_real();
  s.top = {.step = any_integer(), .time = any_integer(), .value = any_real()};
  if (*rc::gen::arbitrary<bool>()) return s;
  s.value_step = any_step();
  s.value_time = any_integer();
  s.last = any_real();
  s.min = any_real();
  s.max = any_real();
  if (*rc::gen::arbitrary<bool>())
    s.top = {.step = s.value_step.value_or(0), .time = *s.value_time, .value = *s.last};
  return s;
}

// To the last bit, which == of doubles does not compare.
std::vector<std::tuple<std::int64_t, SeriesDelta, std::vector<std::uint64_t>>> with_bits(
    const SliceStatistics& statistics) {
  std::vector<std::tuple<std::int64_t, SeriesDelta, std::vector<std::uint64_t>>> all;
  for (auto [id, s] : statistics) {
    std::vector<std::uint64_t> bits;
    for (double* real : {&s.sum, &s.top.value, s.last ? &*s.last : &s.sum, s.min ? &*s.min : &s.sum,
                         s.max ? &*s.max : &s.sum})
      bits.push_back(std::bit_cast<std::uint64_t>(*real));
    s.sum = s.top.value = 0;
    for (auto* real : {&s.last, &s.min, &s.max}) *real = *real ? std::optional(0.0) : std::nullopt;
    all.emplace_back(id.value, s, bits);
  }
  return all;
}

RC_GTEST_PROP(Statistics, ComeBack, ()) {
  SliceStatistics statistics;
  const auto series = *rc::gen::inRange(0, 20);
  for (int i = 0; i < series; ++i) statistics[SeriesId{any_integer()}] = any_series();
  const std::string encoded = encode_statistics(statistics);
  RC_ASSERT(with_bits(decode_statistics(bytes_of(encoded)).value()) == with_bits(statistics));
  SliceStatistics some;
  std::set<SeriesId> wanted;
  for (const auto& [id, one] : statistics) {
    if (*rc::gen::arbitrary<bool>()) continue;
    some[id] = one;
    wanted.insert(id);
  }
  SliceStatistics taken;
  const auto take = [&](SeriesId id, const SeriesDelta& one) { taken[id] = one; };
  RC_ASSERT(read_statistics_of(bytes_of(encoded), wanted, take).has_value());
  RC_ASSERT(with_bits(taken) == with_bits(some));
}

// A series as runs have them: 40 points with steps, the newest of them the smallest.
SliceStatistics usual(std::int64_t series) {
  constexpr std::int64_t kStart = 1'763'710'530'123'456'789;
  SliceStatistics statistics;
  for (std::int64_t id = 1000; id < 1000 + series; ++id) {
    for (std::int64_t i = 0; i < 40; ++i)
      statistics[SeriesId{id}].add(kStart + i * 100'000'000, i, 1 / (1.5 + static_cast<double>(i)));
  }
  return statistics;
}

TEST(Statistics, OfOneSeriesTakeSixtyBytes) {
  EXPECT_LE(encode_statistics(usual(1)).size(), 60u);
  EXPECT_LE(encode_statistics(usual(64)).size(), 64u * 54);
}

TEST(Statistics, EveryChangedByteAndEveryCutIsFound) {
  for (const std::int64_t series : {0, 1, 9}) {
    const std::string whole = encode_statistics(usual(series));
    for (std::size_t i = 0; i < whole.size(); ++i) {
      std::string changed = whole;
      changed[i] = static_cast<char>(changed[i] ^ 0x11);
      EXPECT_FALSE(decode_statistics(bytes_of(changed))) << series << " series, byte " << i;
      EXPECT_FALSE(decode_statistics(bytes_of(whole).first(i))) << series << " series, " << i;
    }
  }
}

std::string resealed(std::string bytes) {
  bytes.resize(bytes.size() - 4);
  const std::uint32_t crc = codec::crc32c(bytes.data(), bytes.size());
  return bytes.append(reinterpret_cast<const char*>(&crc), sizeof crc);
}
TEST(Statistics, ForgedRowsAreDamage) {
  const std::string one = encode_statistics(usual(1));
  const auto code_of = [](const std::string& bytes) {
    const auto read = decode_statistics(bytes_of(resealed(bytes)));
    return read ? Code::kInternal : read.error().code;  // kInternal: read
  };
  EXPECT_EQ(code_of(one), Code::kInternal);
  std::string none = one;
  none[1] = 0;
  EXPECT_EQ(code_of(none), Code::kCorruption) << "version 0";
  constexpr std::size_t kLengthAt = 4;  // behind two bytes of the id
  std::string shorter = one;
  --shorter[kLengthAt];
  EXPECT_EQ(code_of(shorter), Code::kCorruption);
  std::string longer = one;
  ++longer[kLengthAt];
  longer.insert(longer.size() - 4, 1, '\0');
  EXPECT_EQ(code_of(longer), Code::kCorruption);
  std::string twice = one;
  std::string row = one.substr(2, one.size() - 6);
  row.replace(0, 2, 1, '\0');  // the same id again
  twice.insert(twice.size() - 4, row);
  EXPECT_EQ(code_of(twice), Code::kCorruption);
}

TEST(Statistics, ANewerVersionIsNotDamage) {
  std::string newer = encode_statistics(usual(1));
  newer[1] = 2;
  EXPECT_EQ(decode_statistics(bytes_of(newer)).error().code, Code::kUnsupported);
}

// As slices were stored before they were rows.
TEST(Statistics, ColumnsAreRead) {
  const std::array<std::int64_t, 11> integers = {1000, 40, 0, 17, 90, 7, 0, 90, 39, 39, 90};
  const std::array<double, 5> reals = {0.25, 0.125, 4, 11.5, 0.25};
  std::string columns;
  for (const std::int64_t one : integers)
    codec::append_steps(columns, std::array{one}, codec::Effort::kFast);
  for (const double one : reals)
    codec::append_values(columns, std::array{one}, codec::Effort::kFast);
  const auto read = decode_statistics(bytes_of(columns));
  ASSERT_TRUE(read) << read.error().message;
  const SeriesDelta expected{.points = 40,
                             .nan = 0,
                             .first_time = 17,
                             .last_time = 90,
                             .first_step = 0,
                             .value_time = 90,
                             .value_step = 39,
                             .last = 0.25,
                             .min = 0.125,
                             .max = 4,
                             .sum = 11.5,
                             .top = {.step = 39, .time = 90, .value = 0.25}};
  EXPECT_EQ(read->at(SeriesId{1000}), expected);
  int taken = 0;
  const auto take = [&](SeriesId, const SeriesDelta& one) {
    EXPECT_EQ(one, expected);
    ++taken;
  };
  EXPECT_TRUE(read_statistics_of(bytes_of(columns), {SeriesId{999}, SeriesId{1000}}, take));
  EXPECT_TRUE(read_statistics_of(bytes_of(columns), {SeriesId{999}}, take));
  EXPECT_EQ(taken, 1);
}

}  // namespace
}  // namespace corral::store
