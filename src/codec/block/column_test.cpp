// Columns: what is put in comes out to the last bit, in parts as well; damage is found.
#include "codec/block/column.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "codec/block/test_columns.h"

namespace corral::codec {
namespace {

using testing::bits_of;
using testing::bytes_of;
using testing::Random;

constexpr std::array<std::size_t, 15> kLengths = {0,    1,    2,    31,   33,   100,  1023, 1024,
                                                  1025, 2047, 2048, 3000, 7168, 8191, 8192};

Effort any_effort() { return *rc::gen::element(Effort::kFast, Effort::kBest); }
std::size_t any_length() {
  return *rc::gen::oneOf(rc::gen::elementOf(kLengths),
                         rc::gen::inRange<std::size_t>(0, kColumnEntries + 1));
}
std::vector<double> any_values() {
  std::vector<double> values(any_length());
  Random random(*rc::gen::arbitrary<std::uint64_t>());
  testing::fill_values(*rc::gen::inRange(0, testing::kKindsOfValues), random, values);
  for (auto odd = *rc::gen::inRange(0, 4); odd > 0 && !values.empty(); --odd)
    values[testing::below(random, values.size())] = testing::odd_value(random);
  return values;
}
std::vector<std::int64_t> any_integers() {
  std::vector<std::int64_t> integers(any_length());
  Random random(*rc::gen::arbitrary<std::uint64_t>());
  testing::fill_integers(*rc::gen::inRange(0, testing::kKindsOfIntegers), random, integers);
  return integers;
}

std::string values_column(const std::vector<double>& values, Effort effort = Effort::kBest) {
  std::string out;
  append_values(out, values, effort);
  return out;
}
std::string times_column(const std::vector<std::int64_t>& times, Effort effort = Effort::kBest) {
  std::string out;
  append_times(out, times, effort);
  return out;
}

template <class T>
void comes_back(const std::string& column, const std::vector<T>& entries) {
  const auto reader = ColumnReader<T>::open(bytes_of(column)).value();
  RC_ASSERT(reader.entries() == entries.size());
  RC_ASSERT(reader.bytes() == column.size());
  RC_ASSERT(bits_of(reader.read_all().value()) == bits_of(entries));
}

template <class T>
void parts_equal_slices(const std::string& column, const std::vector<T>& entries) {
  const auto reader = ColumnReader<T>::open(bytes_of(column)).value();
  for (int round = 0; round < 4; ++round) {
    const auto first = *rc::gen::inRange<std::size_t>(0, entries.size() + 1);
    std::vector<T> part(*rc::gen::inRange<std::size_t>(0, entries.size() - first + 1));
    RC_ASSERT(reader.read(first, part).has_value());
    const auto begin = entries.begin() + static_cast<std::ptrdiff_t>(first);
    RC_ASSERT(bits_of(part) ==
              bits_of(std::vector<T>(begin, begin + static_cast<std::ptrdiff_t>(part.size()))));
  }
}

RC_GTEST_PROP(Column, ValuesComeBackBitByBit, ()) {
  const auto values = any_values();
  comes_back(values_column(values, any_effort()), values);
}
RC_GTEST_PROP(Column, TimesComeBack, ()) {
  const auto times = any_integers();
  comes_back(times_column(times, any_effort()), times);
}
RC_GTEST_PROP(Column, StepsComeBack, ()) {
  const auto steps = any_integers();
  std::string column;
  append_steps(column, steps, any_effort());
  comes_back(column, steps);
}
RC_GTEST_PROP(Column, PartsOfValuesEqualSlices, ()) {
  const auto values = any_values();
  parts_equal_slices(values_column(values, any_effort()), values);
}
RC_GTEST_PROP(Column, PartsOfTimesEqualSlices, ()) {
  const auto times = any_integers();
  parts_equal_slices(times_column(times, any_effort()), times);
}

// Every kind at every length, whatever rapidcheck draws.
TEST(Column, EveryKindComesBackAtEveryLength) {
  for (const std::size_t n : kLengths) {
    for (int kind = 0; kind < testing::kKindsOfValues; ++kind) {
      Random random(n + static_cast<std::size_t>(kind));
      std::vector<double> values(n);
      testing::fill_values(kind, random, values);
      for (const Effort effort : {Effort::kFast, Effort::kBest}) {
        const std::string column = values_column(values, effort);
        const auto back = ValueReader::open(bytes_of(column)).value().read_all().value();
        ASSERT_EQ(bits_of(back), bits_of(values)) << n << " of kind " << kind;
      }
    }
    for (int kind = 0; kind < testing::kKindsOfIntegers; ++kind) {
      Random random(n + static_cast<std::size_t>(kind));
      std::vector<std::int64_t> integers(n);
      testing::fill_integers(kind, random, integers);
      const std::string column = times_column(integers);
      ASSERT_EQ(IntegerReader::open(bytes_of(column)).value().read_all().value(), integers)
          << n << " of kind " << kind;
    }
  }
}

TEST(Column, DecimalsOfFifteenDigitsAreExact) {
  std::vector<double> values;
  for (int exponent = 0; exponent <= 15; ++exponent) {
    for (const double digits : {1.0, 123'456'789.0, 999'999'999'999'999.0, 314'159'265'358'979.0})
      values.push_back(digits / testing::power_of_ten(static_cast<std::uint64_t>(exponent)));
  }
  const std::string column = values_column(values);
  EXPECT_EQ(bits_of(ValueReader::open(bytes_of(column)).value().read_all().value()),
            bits_of(values));
}

TEST(Column, ColumnsFollowOneAnother) {
  const std::vector<double> values = {1, 2.5, -0.0};
  const std::vector<std::int64_t> times = {5, 6, 9};
  std::string both = values_column(values);
  append_times(both, times, Effort::kFast);
  const auto first = ValueReader::open(bytes_of(both)).value();
  EXPECT_EQ(bits_of(first.read_all().value()), bits_of(values));
  const auto second = IntegerReader::open(bytes_of(both).subspan(first.bytes())).value();
  EXPECT_EQ(second.read_all().value(), times);
  EXPECT_EQ(first.bytes() + second.bytes(), both.size());
}

// ---- sizes: a change that makes columns bigger must be meant
double bytes_per_value(int kind, Effort effort = Effort::kBest) {
  Random random(17);
  std::vector<double> values(kColumnEntries);
  testing::fill_values(kind, random, values);
  return static_cast<double>(values_column(values, effort).size()) /
         static_cast<double>(values.size());
}
TEST(Column, EachKindTakesNoMoreThanItShould) {
  EXPECT_LT(bytes_per_value(2), 6.1);    // floats of one binade, shifted by a random base
  EXPECT_LT(bytes_per_value(4), 0.50);   // four levels a regime: 2 bits and the regimes
  EXPECT_LT(bytes_per_value(5), 1.95);   // 15 bits of noise
  EXPECT_LT(bytes_per_value(6), 0.10);   // a change every 90 entries
  EXPECT_LT(bytes_per_value(8), 6.55);   // 52 bits of noise
  EXPECT_LT(bytes_per_value(9), 1.6);    // smooth
  EXPECT_LT(bytes_per_value(10), 0.18);  // one bit
  EXPECT_LT(bytes_per_value(11), 2.1);   // 13 bits, and 10 bytes for one in 40
  EXPECT_LT(bytes_per_value(12, Effort::kFast), 0.75);  // 6 and 100 levels
  EXPECT_LT(bytes_per_value(14), 1.75);                 // 13 bits of microseconds
}

double bytes_of_ratios(double numerator, double (*elapsed)(double whole)) {
  Random random(29);
  std::vector<double> values(kColumnEntries);
  for (double& value : values)
    value = numerator / elapsed(static_cast<double>(100'000 + testing::below(random, 4096)));
  const std::string column = values_column(values);
  EXPECT_EQ(bits_of(ValueReader::open(bytes_of(column)).value().read_all().value()),
            bits_of(values));
  return static_cast<double>(column.size()) / static_cast<double>(values.size());
}
TEST(Column, ItemsPerSecondTakeTheBitsOfTheElapsedTime) {
  EXPECT_LT(bytes_of_ratios(64, [](double us) { return us * 1e-6; }), 1.6);
  EXPECT_LT(bytes_of_ratios(64, [](double us) { return us / 1e6; }), 1.6);
  EXPECT_LT(bytes_of_ratios(3000, [](double ns) { return ns / 1e9; }), 1.6);
  EXPECT_LT(bytes_of_ratios(7, [](double ms) { return ms * 1e-3; }), 1.6);
  EXPECT_LT(bytes_of_ratios(1, [](double whole) { return whole; }), 1.6);
}
// As a program measures it: the later time minus the earlier one, in seconds.
TEST(Column, ItemsPerSecondOfClocksTakeTheBitsOfTheElapsedTime) {
  static constexpr double kSince1970 = 1'763'710'530.123456;
  EXPECT_LT(bytes_of_ratios(4096, [](double us) { return (kSince1970 + us * 1e-6) - kSince1970; }),
            1.85);
  static constexpr double kUpADay = 100'000.123456789;
  EXPECT_LT(bytes_of_ratios(96, [](double us) { return (kUpADay + us * 1e-6) - kUpADay; }), 3.7);
  static constexpr double kUpAMonth = 3'000'000.123456789;
  EXPECT_LT(bytes_of_ratios(96, [](double us) { return (kUpAMonth + us * 1e-6) - kUpAMonth; }),
            3.1);
}
// An older Corral reads all that it has a way to store.
TEST(Column, TheNewVersionIsOfNewWaysAlone) {
  for (int kind = 0; kind < testing::kKindsOfValues; ++kind) {
    const bool is_new = kind == 9 || kind == 13 || kind == 14;
    Random random(17);
    std::vector<double> values(kColumnEntries);
    testing::fill_values(kind, random, values);
    for (const Effort effort : {Effort::kFast, Effort::kBest})
      EXPECT_EQ(values_column(values, effort)[0], is_new ? 2 : 1) << "kind " << kind;
  }
}
// A few values that no way stores cost their ten bytes, wherever they are, and hide nothing.
TEST(Column, OddValuesAmongSmoothOnesAndRatiosCostThemselves) {
  constexpr std::size_t kOdd = 14;
  for (const int kind : {9, 14}) {
    for (const double odd : {std::numeric_limits<double>::infinity(),
                             std::numeric_limits<double>::quiet_NaN(), -0.0}) {
      Random random(23);
      std::vector<double> values(kColumnEntries);
      testing::fill_values(kind, random, values);
      const std::size_t before = values_column(values).size();
      values[3584] = values[0] = odd;  // samples are taken there
      for (std::size_t i = 3600; i < 3600 + kOdd - 2; ++i)
        values[i + i % 7 * 60] = odd;  // in the vector that is probed
      EXPECT_LT(values_column(values).size(), before + 12 * kOdd + 100)
          << "kind " << kind << ", " << odd;
    }
  }
}
// A way is chosen by what it costs in all, exceptions included.
TEST(Column, HeldValuesAreNotTakenForCurves) {
  Random random(31);
  std::vector<double> values(kColumnEntries);
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = i % 20 == 0 ? testing::uniform(random) : values[i - 1];
  for (std::size_t i = 0; i < values.size(); i += 100)
    values[i] = std::numeric_limits<double>::quiet_NaN();
  EXPECT_LT(values_column(values).size(), 7200u);
}
// A vector that is not as the others are costs no more than its bits, and the others nothing.
TEST(Column, OneVectorOfAnotherKindDoesNotSpoilTheOthers) {
  for (const int kind : {9, 14}) {
    Random random(5);
    std::vector<double> values(kColumnEntries);
    testing::fill_values(kind, random, values);
    const std::size_t before = values_column(values).size();
    testing::fill_values(0, random, std::span(values).subspan(1024, 1024));
    const std::size_t after = values_column(values).size();
    EXPECT_LT(after, before + 1024 * 8 + 100) << "kind " << kind;
  }
}
TEST(Column, WhatNeverChangesTakesTwentyBytes) {
  EXPECT_EQ(values_column(std::vector<double>(kColumnEntries, 0.1)).size(), 20u);
  EXPECT_EQ(values_column({}).size(), 12u);
  EXPECT_EQ(values_column({std::bit_cast<double>(0x7FF8000000001234u)}).size(), 20u);
}
TEST(Column, StepsOneByOneTakeTwentyEightBytes) {
  std::vector<std::int64_t> steps(kColumnEntries);
  for (std::size_t i = 0; i < steps.size(); ++i) steps[i] = static_cast<std::int64_t>(i) + 100;
  std::string column;
  append_steps(column, steps, Effort::kFast);
  EXPECT_EQ(column.size(), 28u);
}
TEST(Column, TimesTakeLittleMoreThanTheirJitter) {
  Random random(3);
  std::vector<std::int64_t> times(kColumnEntries);
  testing::fill_integers(2, random, times);  // nine levels: 3.2 bits
  EXPECT_LT(times_column(times).size(), kColumnEntries * 5 / 10);
}

// ---- damage
std::vector<std::string> small_columns() {
  std::vector<std::string> columns;
  for (int kind = 0; kind < testing::kKindsOfValues; ++kind) {
    Random random(static_cast<std::uint64_t>(kind));
    std::vector<double> values(kind % 3 == 0 ? 1100 : 150);
    testing::fill_values(kind, random, values);
    columns.push_back(values_column(values));
  }
  columns.push_back(values_column({}));
  return columns;
}

Code code_of_reading(std::span<const std::uint8_t> bytes) {
  const auto reader = ValueReader::open(bytes);
  if (!reader) return reader.error().code;
  const auto all = reader->read_all();
  return all ? Code::kInternal : all.error().code;  // kInternal: read
}

TEST(Column, EveryChangedByteIsFound) {
  for (const std::string& column : small_columns()) {
    for (std::size_t i = 0; i < column.size(); ++i) {
      for (const int flip : {0x01, 0x80, 0xFF}) {
        std::string damaged = column;
        damaged[i] = static_cast<char>(damaged[i] ^ flip);
        const Code code = code_of_reading(bytes_of(damaged));
        const bool newer = i == 0 && code == Code::kUnsupported;
        ASSERT_TRUE(code == Code::kCorruption || newer) << "byte " << i;
      }
    }
  }
}
TEST(Column, EveryTruncationIsFound) {
  for (const std::string& column : small_columns()) {
    for (std::size_t n = 0; n < column.size(); ++n)
      ASSERT_EQ(code_of_reading(bytes_of(column).first(n)), Code::kCorruption) << n;
  }
}
TEST(Column, WhatFollowsDoesNotMatter) {
  std::string column = values_column({1, 2, 3});
  const std::size_t length = column.size();
  column += "and more";
  const auto reader = ValueReader::open(bytes_of(column)).value();
  EXPECT_EQ(reader.bytes(), length);
  EXPECT_EQ(reader.read_all().value(), (std::vector<double>{1, 2, 3}));
}

// Behind the checksum: what is read may be wrong then, but nothing outside is touched.
TEST(Column, ForgedBytesGiveAnErrorOrValues) {
  for (const std::string& column : small_columns()) {
    for (std::size_t i = 1; i < std::min<std::size_t>(column.size(), 400); ++i) {
      for (const int flip : {0x01, 0x10, 0x80, 0xFF}) {
        std::string forged = column;
        forged[i] = static_cast<char>(forged[i] ^ flip);
        testing::reseal(forged);
        const Code code = code_of_reading(bytes_of(forged));
        ASSERT_TRUE(code == Code::kCorruption || code == Code::kInternal) << "byte " << i;
      }
    }
  }
}
TEST(Column, BytesLeftOverInAVectorAreDamage) {
  std::string column = values_column({1, 2, 3});
  column.push_back('\0');
  testing::reseal(column);
  EXPECT_EQ(code_of_reading(bytes_of(column)), Code::kCorruption);
}
// The first byte of the only vector, and the bytes after it, replaced.
Code code_with(std::vector<double> values, std::string_view vector) {
  std::string column = values_column(values);
  column.replace(12, vector.size(), vector);
  testing::reseal(column);
  return code_of_reading(bytes_of(column));
}
TEST(Column, UnknownWaysAreDamage) {
  const std::vector<double> values = {0.1, 2.7, 3.14159265358979, 1e-7};
  for (const int way : {0x42, 0x43, 0x80})  // maps 6 and 7, bit 7
    EXPECT_EQ(code_with(values, {std::string(1, static_cast<char>(way))}), Code::kCorruption)
        << way;
  EXPECT_EQ(code_with(values, std::string_view("\x40\xFF\x7F", 3)), Code::kCorruption) << "2^32767";
  EXPECT_EQ(code_with(values, std::string_view("\x40\x01\xFC", 3)), Code::kCorruption) << "2^-1023";
}
// Each column is right but for one bit.
TEST(Column, UnknownOrdersAndUnitsAreDamage) {
  std::vector<double> values(150);
  Random random(3);
  testing::fill_values(9, random, values);
  std::string smooth = values_column(values);
  ASSERT_EQ(smooth[12], 0x60) << "a curve by third differences";
  smooth[12] |= 0x04;
  testing::reseal(smooth);
  EXPECT_EQ(code_of_reading(bytes_of(smooth)), Code::kCorruption) << "order 5";
  testing::fill_values(14, random, values);
  std::string ratio = values_column(values);
  ASSERT_EQ(ratio[12] & 0x43, 0x41) << "a ratio";
  ratio[13] |= 0x20;
  testing::reseal(ratio);
  EXPECT_EQ(code_of_reading(bytes_of(ratio)), Code::kCorruption) << "no unit";
}
TEST(Column, ANewerVersionIsNotDamage) {
  std::string column = values_column({1, 2, 3});
  column[0] = 3;
  testing::reseal(column);
  EXPECT_EQ(code_of_reading(bytes_of(column)), Code::kUnsupported);
}
TEST(Column, ValuesAreNotReadAsIntegersNorTheOtherWayRound) {
  const std::string values = values_column({1, 2, 3.5});
  EXPECT_EQ(IntegerReader::open(bytes_of(values)).error().code, Code::kCorruption);
  const std::string times = times_column({1, 2, 3});
  EXPECT_EQ(ValueReader::open(bytes_of(times)).error().code, Code::kCorruption);
}

}  // namespace
}  // namespace corral::codec
