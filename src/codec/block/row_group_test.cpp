#include "codec/block/row_group.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>

#include "codec/crc32c.h"
#include "codec/test_frames.h"

namespace corral::codec {
namespace {

using Bytes = std::vector<std::uint8_t>;
using Groups = std::vector<SamplingGroup>;

Bytes encoded(const Groups& groups, Effort effort = Effort::kFast) {
  const std::string text = encode_row_group(groups, effort);
  return {text.begin(), text.end()};
}

bool same_bits(const SamplingGroup& a, const SamplingGroup& b) {
  const auto same_column = [](const auto& x, const auto& y) {
    return x.series == y.series && x.values.size() == y.values.size() &&
           std::memcmp(x.values.data(), y.values.data(), x.values.size() * sizeof(double)) == 0;
  };
  return a.times == b.times && a.steps == b.steps &&
         std::equal(a.columns.begin(), a.columns.end(), b.columns.begin(), b.columns.end(),
                    same_column);
}
bool same_bits(const Groups& a, const Groups& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const auto& x, const auto& y) { return same_bits(x, y); });
}

SamplingGroup group_of(std::vector<std::int64_t> series, std::size_t points, bool steps = false) {
  SamplingGroup group;
  for (std::size_t i = 0; i < points; ++i) {
    group.times.push_back(1'000'000 * static_cast<std::int64_t>(i));
    if (steps) group.steps.push_back(7 - static_cast<std::int64_t>(i));
  }
  for (const std::int64_t id : series) {
    auto& column = group.columns.emplace_back();
    column.series = SeriesId{id};
    for (std::size_t i = 0; i < points; ++i)
      column.values.push_back(static_cast<double>(id) + static_cast<double>(i * i % 17) / 8);
  }
  return group;
}
Groups sample() {
  return {group_of({3, 4, 900}, 12), group_of({4}, 5, true), group_of({-9, 1LL << 60}, 3)};
}

Groups any_groups() {
  return testing::several(4, [] {
    SamplingGroup group;
    const std::size_t points = 1 + testing::up_to(20);
    for (std::size_t i = 0; i < points; ++i) group.times.push_back(testing::any_number());
    std::sort(group.times.begin(), group.times.end());
    if (*rc::gen::arbitrary<bool>())
      for (std::size_t i = 0; i < points; ++i) group.steps.push_back(testing::any_number());
    std::map<std::int64_t, std::vector<double>> columns;
    for (std::size_t n = 1 + testing::up_to(5); n > 0; --n) {
      auto& values = columns[testing::any_number()];
      values.clear();
      for (std::size_t i = 0; i < points; ++i) values.push_back(testing::any_double());
    }
    for (const auto& [id, values] : columns) group.columns.push_back({SeriesId{id}, values});
    return group;
  });
}

// Returns the data of the series in the groups, by its definition.
Groups part_of(const Groups& groups, const std::vector<SeriesId>& series) {
  Groups part;
  for (SamplingGroup group : groups) {
    std::erase_if(group.columns, [&](const auto& column) {
      return std::find(series.begin(), series.end(), column.series) == series.end();
    });
    if (!group.columns.empty()) part.push_back(std::move(group));
  }
  return part;
}

RC_GTEST_PROP(RowGroup, EveryRowGroupComesBackToTheLastBit, ()) {
  const Groups groups = any_groups();
  const auto effort = *rc::gen::element(Effort::kFast, Effort::kBest);
  RC_ASSERT(same_bits(decode_row_group(encoded(groups, effort)).value(), groups));
}

RC_GTEST_PROP(RowGroup, APartHasTheColumnsThatWereAskedForAndNoOther, ()) {
  const Groups groups = any_groups();
  std::vector<SeriesId> wanted{SeriesId{testing::any_number()}};
  for (const SamplingGroup& group : groups)
    for (const auto& column : group.columns)
      if (*rc::gen::arbitrary<bool>()) wanted.insert(wanted.begin(), column.series);
  const RowGroupPart part = read_row_group(encoded(groups), wanted).value();
  RC_ASSERT(part.damaged == 0u);
  RC_ASSERT(same_bits(part.groups, part_of(groups, wanted)));
}

TEST(RowGroup, NoGroupsAndNoSeries) {
  EXPECT_TRUE(decode_row_group(encoded({})).value().empty());
  EXPECT_TRUE(read_row_group(encoded({}), std::vector{SeriesId{1}}).value().groups.empty());
  EXPECT_TRUE(read_row_group(encoded(sample()), {}).value().groups.empty());
}

TEST(RowGroup, OffsetsAndSeriesOfEveryWidth) {
  const Groups groups{
      group_of({0, 255}, 3), group_of({0, 256}, 3), group_of({0, 70'000}, 3),
      group_of({std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max()},
               3)};
  EXPECT_EQ(decode_row_group(encoded(groups)).value(), groups);
  // Noise, so that the columns take more than 64 KiB.
  Groups large{group_of({1, 2, 3}, kColumnEntries, true)};
  std::uint64_t state = 1;
  for (auto& column : large[0].columns)
    for (double& value : column.values)
      value = static_cast<double>(state = state * 6364136223846793005u + 1442695040888963407u);
  const Bytes bytes = encoded(large);
  ASSERT_GT(bytes.size(), 70'000u);
  EXPECT_EQ(decode_row_group(bytes).value(), large);
  EXPECT_EQ(read_row_group(bytes, std::vector{SeriesId{3}}).value().groups,
            part_of(large, {SeriesId{3}}));
}

TEST(RowGroup, TheDirectoryOfFiftySeriesIsSmall) {
  std::vector<std::int64_t> series;
  for (std::int64_t id = 5000; id < 5050; ++id) series.push_back(id);
  const SamplingGroup group = group_of(series, 100);
  std::string columns;
  append_times(columns, group.times, Effort::kFast);
  for (const auto& column : group.columns) append_values(columns, column.values, Effort::kFast);
  EXPECT_LT(encoded({group}).size(), columns.size() + 12 * series.size());
}

TEST(RowGroup, EveryChangedByteIsFound) {
  const Bytes good = encoded(sample());
  for (std::size_t i = 0; i < good.size(); ++i) {
    for (const int change : {0x01, 0x80, 0xFF}) {
      Bytes bad = good;
      bad[i] = static_cast<std::uint8_t>(bad[i] ^ change);
      const auto decoded = decode_row_group(bad);
      ASSERT_FALSE(decoded.has_value()) << i;
      EXPECT_TRUE(decoded.error().code == Code::kCorruption ||
                  decoded.error().code == Code::kUnsupported);
    }
  }
}

TEST(RowGroup, EveryShorterOrLongerOneIsFound) {
  const Bytes good = encoded(sample());
  for (std::size_t size = 0; size < good.size(); ++size) {
    EXPECT_FALSE(decode_row_group(std::span(good).first(size)).has_value()) << size;
    EXPECT_FALSE(read_row_group(std::span(good).first(size), {}).has_value()) << size;
  }
  Bytes longer = good;
  longer.push_back(0);
  EXPECT_EQ(decode_row_group(longer).error().code, Code::kCorruption);
}

TEST(RowGroup, ADamagedColumnIsLeftOutAndCounted) {
  const Groups groups = sample();
  const std::vector<SeriesId> all{SeriesId{-9}, SeriesId{3}, SeriesId{4}, SeriesId{900},
                                  SeriesId{1LL << 60}};
  Bytes bytes = encoded(groups);
  bytes.back() ^= 1;  // the last column of the last group
  const RowGroupPart part = read_row_group(bytes, all).value();
  EXPECT_EQ(part.damaged, 1u);
  Groups left = groups;
  left[2].columns.pop_back();
  EXPECT_EQ(part.groups, left);
  const RowGroupPart other = read_row_group(bytes, std::vector{SeriesId{4}}).value();
  EXPECT_EQ(other.damaged, 0u);
  EXPECT_EQ(other.groups, part_of(groups, {SeriesId{4}}));
}

TEST(RowGroup, WithDamagedTimesOrStepsAGroupIsLost) {
  const Groups groups{group_of({1, 2, 3}, 4, true), group_of({3}, 4)};
  const Bytes good = encoded(groups);
  std::string times;
  append_times(times, groups[0].times, Effort::kFast);
  const auto found =
      std::search(good.begin(), good.end(), times.begin(), times.end(),
                  [](std::uint8_t a, char b) { return a == static_cast<std::uint8_t>(b); });
  const auto begin = static_cast<std::size_t>(found - good.begin());
  ASSERT_LT(begin, good.size());
  const std::vector<SeriesId> wanted{SeriesId{2}, SeriesId{3}};
  for (const std::size_t at : {begin + times.size() - 1, begin + times.size() + 8}) {
    Bytes bytes = good;
    bytes[at] ^= 1;
    const RowGroupPart part = read_row_group(bytes, wanted).value();
    EXPECT_EQ(part.damaged, 2u);
    EXPECT_EQ(part.groups, part_of({groups[1]}, wanted));
  }
}

TEST(RowGroup, ANewerVersionIsUnsupported) {
  Bytes bytes = encoded(sample());
  bytes[0] = 2;
  EXPECT_EQ(read_row_group(bytes, {}).error().code, Code::kUnsupported);
}

// A row group of this directory and no columns, its checksum right.
Bytes with_directory(std::uint16_t groups, const Bytes& directory) {
  Bytes bytes{1, 0, static_cast<std::uint8_t>(groups), static_cast<std::uint8_t>(groups >> 8)};
  bytes.resize(16);
  const auto size = static_cast<std::uint32_t>(directory.size());
  std::memcpy(bytes.data() + 4, &size, sizeof size);
  const std::uint32_t crc = crc32c(directory.data(), directory.size(), crc32c(bytes.data(), 12));
  std::memcpy(bytes.data() + 12, &crc, sizeof crc);
  bytes.insert(bytes.end(), directory.begin(), directory.end());
  return bytes;
}
Bytes entry(std::uint16_t columns, std::uint8_t flags, const Bytes& rest) {
  Bytes bytes{static_cast<std::uint8_t>(columns), static_cast<std::uint8_t>(columns >> 8), flags};
  bytes.resize(bytes.size() + 12);  // first series, bytes
  bytes.insert(bytes.end(), rest.begin(), rest.end());
  return bytes;
}

TEST(RowGroup, HostileDirectoriesAreErrors) {
  const Bytes many(2 * 4096 + 4097, 0);
  const std::vector<Bytes> hostile{
      with_directory(1, {}),
      with_directory(0, {1}),
      with_directory(1, entry(0, 0, {})),
      with_directory(1, entry(0xFFFF, 3, {0, 0, 0})),
      with_directory(1, entry(1, 0x10, {0, 0, 0})),
      with_directory(1, entry(1, 0, {0, 9, 0})),           // behind the payload
      with_directory(1, entry(1, 0, {1, 0, 0})),           // not the first series
      with_directory(1, entry(2, 0, {0, 0, 0, 0, 0, 0})),  // the same series twice
      with_directory(1, entry(4097, 0, many))};
  for (const Bytes& bytes : hostile) {
    const auto part = read_row_group(bytes, std::vector{SeriesId{0}});
    ASSERT_FALSE(part.has_value());
    EXPECT_EQ(part.error().code, Code::kCorruption);
  }
  // A good directory in front of nothing: the column is damaged.
  EXPECT_EQ(read_row_group(with_directory(1, entry(1, 0, {0, 0, 0})), std::vector{SeriesId{0}})
                .value()
                .damaged,
            1u);
}

}  // namespace
}  // namespace corral::codec
