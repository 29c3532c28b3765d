// Columns of each version as they were when it was made (tests/golden/columns-v*.bin): they are
// read for ever.
//
// CORRAL_UPDATE_GOLDEN=1 rewrites the files; that is right only while a version has never been
// released.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <set>

#include "codec/block/column.h"
#include "codec/block/test_columns.h"
#include "core/test_paths.h"

namespace corral::codec {
namespace {

using testing::bits_of;
using testing::bytes_of;

// Nothing of the standard library's distributions: the same numbers on every machine.
std::uint64_t mixed(std::uint64_t i) {
  std::uint64_t z = i * 0x9E3779B97F4A7C15u;
  z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
  z = (z ^ z >> 27) * 0x94D049BB133111EBu;
  return z ^ z >> 31;
}
double whole(std::uint64_t n) { return static_cast<double>(n); }
double mantissa(std::uint64_t i) { return whole(mixed(i) >> 11) * 0x1p-53; }

template <class Value>
std::vector<double> values(std::size_t n, Value value) {
  std::vector<double> all(n);
  for (std::size_t i = 0; i < n; ++i) all[i] = value(i);
  return all;
}
template <class Integer>
std::vector<std::int64_t> integers(std::size_t n, Integer integer) {
  std::vector<std::int64_t> all(n);
  for (std::size_t i = 0; i < n; ++i) all[i] = integer(static_cast<std::int64_t>(i));
  return all;
}
std::int64_t jitter(std::int64_t i) {
  return static_cast<std::int64_t>(mixed(static_cast<std::uint64_t>(i)) % 1000);
}

std::vector<std::vector<double>> value_columns(int version) {
  if (version == 2)
    return {
        values(1500, [](std::size_t i) { return 1e-3 / (1 + whole(i) / 900); }),
        values(1100,
               [](std::size_t i) {
                 return i == 500 ? -0.0 : 0.3 - 1e-4 * whole(i) + 1e-9 * whole(i * i);
               }),
        values(1024, [](std::size_t i) { return 64 / (whole(90'000 + mixed(i) % 4096) * 1e-6); }),
        values(90,
               [](std::size_t i) { return 1000 / (whole(5'000'000 + mixed(i) % 65'536) / 1e9); }),
        values(1024, [](std::size_t i) {
          return i % 100 == 7 ? 0.0 : 96 / (whole(400'000 + mixed(i) % 8192) * 0x1p-22);
        })};
  return {
      {},
      values(300, [](std::size_t) { return std::bit_cast<double>(0x7FF8000000001234u); }),
      values(1025, [](std::size_t i) { return whole(mixed(i) % 1024) / 10; }),
      values(40, [](std::size_t i) { return i == 7 ? -0.0 : whole(i % 5 * 15); }),
      values(1024, [](std::size_t i) { return whole(i / 100 * 15 + mixed(i) % 2); }),
      values(1500, [](std::size_t i) { return whole(i * 300'000 + mixed(i) % 256) / 1000; }),
      values(1024, [](std::size_t i) { return whole(1000 + i * i); }),
      values(
          1024,
          [](std::size_t i) { return static_cast<double>(static_cast<float>(1 + mantissa(i))); }),
      values(1024, [](std::size_t i) { return 1 + mantissa(i); }),
      values(50, [](std::size_t i) { return std::bit_cast<double>(mixed(i)); }),
      values(1024, [](std::size_t i) { return (1 + whole(mixed(i / 90) % 1000)) * 2'097'152; })};
}
std::vector<std::vector<std::int64_t>> integer_columns(int version) {
  if (version == 2) return {};  // as they are in version 1
  return {{},
          integers(8192, [](std::int64_t) { return -5; }),
          integers(8192, [](std::int64_t i) { return 10 - 3 * i; }),
          integers(1100, [](std::int64_t i) { return 1'000'000 * (100 * i + jitter(i) % 5) + 7; }),
          integers(100, [](std::int64_t i) { return i + i / 9; }),
          integers(60, [](std::int64_t i) { return i % 2 == 0 ? INT64_MIN : INT64_MAX - i; })};
}

std::string golden_path(int version) {
  return golden_dir() + "/columns-v" + std::to_string(version) + ".bin";
}

void write_golden(int version) {
  std::string all;
  for (const auto& column : value_columns(version)) append_values(all, column, Effort::kBest);
  for (const auto& column : integer_columns(version)) append_times(all, column, Effort::kBest);
  for (const auto& column : integer_columns(version)) append_steps(all, column, Effort::kBest);
  std::ofstream(golden_path(version), std::ios::binary) << all;
}

class ColumnGolden : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    if (std::getenv("CORRAL_UPDATE_GOLDEN") == nullptr) return;
    write_golden(1);
    write_golden(2);
  }
  void every_column_is_read_as_it_was_meant(int version) {
    std::ifstream in(golden_path(version), std::ios::binary);
    all_.assign(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
    ASSERT_FALSE(all_.empty());
    for (const auto& column : value_columns(version))
      EXPECT_EQ(bits_of(next<double>()), bits_of(column));
    for (int round = 0; round < 2; ++round) {  // times, then steps
      for (const auto& column : integer_columns(version)) EXPECT_EQ(next<std::int64_t>(), column);
    }
    EXPECT_EQ(at_, all_.size());
  }
  // The column at `at`, which then stands behind it.
  template <class T>
  std::vector<T> next() {
    const auto reader = ColumnReader<T>::open(bytes_of(all_).subspan(at_));
    if (!reader) return {T{}, T{}, T{}};
    note(bytes_of(all_).subspan(at_, reader->bytes()), reader->entries());
    at_ += reader->bytes();
    return reader->read_all().value_or(std::vector<T>{});
  }
  // Notes the variants of the format that the column uses: its scheme, and map and order of its
  // first vector.
  void note(std::span<const std::uint8_t> column, std::size_t entries) {
    versions_.insert(column[0]);
    schemes_.insert(column[1]);
    if ((column[1] & 0x0F) != 2) return;
    const std::size_t directory = entries > 1024 ? 2 * ((entries + 1023) / 1024) : 0;
    const unsigned ways = column[12 + directory];
    maps_.insert((ways & 3) | (ways >> 6 & 1) << 2);
    if ((ways >> 4 & 1) != 0) with_exceptions_.insert((ways & 3) | (ways >> 6 & 1) << 2);
    if ((ways & 0x43) == 0x41) units_.insert(column[13 + directory]);
    orders_.insert((ways >> 2 & 3) | (ways >> 5 & 1) << 2);
  }
  std::string all_;
  std::size_t at_ = 0;
  std::set<unsigned> versions_, schemes_, maps_, orders_;
  std::set<unsigned> with_exceptions_;  // maps
  std::set<unsigned> units_;            // first bytes of ratios
};

// Each file holds every way of its version to store a column.
TEST_F(ColumnGolden, EveryColumnOfVersion1IsReadAsItWasMeant) {
  every_column_is_read_as_it_was_meant(1);
  EXPECT_EQ(versions_, (std::set<unsigned>{1}));
  EXPECT_EQ(schemes_, (std::set<unsigned>{0x00, 0x02, 0x10, 0x11, 0x12}));
  EXPECT_EQ(maps_, (std::set<unsigned>{0, 1, 2, 3}));
  EXPECT_EQ(orders_, (std::set<unsigned>{0, 1, 2, 3}));
  EXPECT_EQ(with_exceptions_, (std::set<unsigned>{0}));
}
TEST_F(ColumnGolden, EveryColumnOfVersion2IsReadAsItWasMeant) {
  every_column_is_read_as_it_was_meant(2);
  EXPECT_EQ(versions_, (std::set<unsigned>{2}));
  EXPECT_EQ(maps_, (std::set<unsigned>{4, 5}));
  EXPECT_TRUE(orders_.contains(2) && orders_.contains(4));
  EXPECT_EQ(with_exceptions_, (std::set<unsigned>{4, 5}));
  EXPECT_EQ(units_, (std::set<unsigned>{0x06, 0x19, 0x00}));
}

}  // namespace
}  // namespace corral::codec
