#include "codec/block/row_group.h"

#include <algorithm>
#include <limits>

#include "codec/crc32c.h"
#include "codec/wire.h"

namespace corral::codec {
namespace {

using ByteSpan = std::span<const std::uint8_t>;

constexpr std::uint8_t kVersion = 1;
constexpr std::size_t kHeaderBytes = 16;
constexpr std::size_t kCrcAt = 12;
constexpr std::uint8_t kIdWidth = 3;      // its binary logarithm
constexpr std::uint8_t kWideOffsets = 4;  // offsets of 4 bytes, not 2
constexpr std::uint8_t kHasSteps = 8;

tl::unexpected<Error> damaged(const char* what) {
  return fail(Code::kCorruption, std::string("the row group is damaged: ") + what);
}

// ---- writing

void check_group(const SamplingGroup& group) {
  const std::size_t points = group.times.size();
  CORRAL_ASSERT(points > 0 && points <= kColumnEntries && !group.columns.empty());
  CORRAL_ASSERT(group.steps.empty() || group.steps.size() == points);
  CORRAL_ASSERT(std::is_sorted(group.times.begin(), group.times.end()));
  for (std::size_t i = 0; i < group.columns.size(); ++i) {
    CORRAL_ASSERT(group.columns[i].values.size() == points);
    CORRAL_ASSERT(i == 0 || group.columns[i - 1].series < group.columns[i].series);
  }
}

// Bytes 1, 2, 4 or 8, as their logarithm.
std::uint8_t log_width(std::uint64_t most) {
  return most <= 0xFF ? 0 : most <= 0xFFFF ? 1 : most <= 0xFFFFFFFF ? 2 : 3;
}
void put_number(WireWriter& out, std::uint64_t number, std::size_t bytes) {
  out.append(&number, bytes);
}

// Distance of a series to the first one of its group.
std::uint64_t distance(SeriesId from, SeriesId to) {
  return static_cast<std::uint64_t>(to.value) - static_cast<std::uint64_t>(from.value);
}

// Writes the positions of a group's columns, from the group's first byte; the last one ends at the
// group's end.
void put_group(WireWriter& directory, const SamplingGroup& group,
               std::span<const std::uint32_t> offsets, std::uint32_t bytes) {
  const SeriesId first = group.columns.front().series;
  const std::uint8_t id_width = log_width(distance(first, group.columns.back().series));
  const bool wide = offsets.back() > std::numeric_limits<std::uint16_t>::max();
  std::uint8_t flags = id_width;
  if (wide) flags |= kWideOffsets;
  if (!group.steps.empty()) flags |= kHasSteps;
  directory.put(static_cast<std::uint16_t>(group.columns.size()));
  directory.put(flags);
  directory.put(first.value);
  directory.put(bytes);
  for (const auto& column : group.columns)
    put_number(directory, distance(first, column.series), std::size_t{1} << id_width);
  for (const std::uint32_t offset : offsets) put_number(directory, offset, wide ? 4 : 2);
}

void put_columns(std::string& payload, WireWriter& directory, const SamplingGroup& group,
                 Effort effort) {
  const std::size_t begin = payload.size();
  std::vector<std::uint32_t> offsets;
  const auto note = [&] { offsets.push_back(static_cast<std::uint32_t>(payload.size() - begin)); };
  append_times(payload, group.times, effort);
  if (!group.steps.empty()) {
    note();
    append_steps(payload, group.steps, effort);
  }
  for (const auto& column : group.columns) {
    note();
    append_values(payload, column.values, effort);
  }
  CORRAL_ASSERT(payload.size() <= std::numeric_limits<std::uint32_t>::max());
  put_group(directory, group, offsets, static_cast<std::uint32_t>(payload.size() - begin));
}

// ---- reading

// A group as the directory has it.
class GroupEntry {
 public:
  // Takes the entry off the directory and the group's bytes off the payload; false: cannot be.
  bool read_entry(WireReader& directory, ByteSpan& payload);

  [[nodiscard]] std::size_t columns() const { return columns_; }
  [[nodiscard]] SeriesId series(std::size_t column) const {
    return {static_cast<std::int64_t>(first_ + number(ids_, column, id_bytes_))};
  }
  // Returns the column of the series, columns() if it is absent.
  [[nodiscard]] std::size_t find(SeriesId series) const;
  // Times and, when there are any, steps. kCorruption.
  Result<SamplingGroup> points() const;
  // Returns as many values as there are points. kCorruption.
  Result<std::vector<double>> values(std::size_t column, std::size_t points) const;

 private:
  static std::uint64_t number(ByteSpan from, std::size_t i, std::size_t bytes) {
    std::uint64_t value = 0;
    std::memcpy(&value, from.data() + i * bytes, bytes);
    return value;
  }
  [[nodiscard]] bool offsets_ascend() const;
  [[nodiscard]] bool series_ascend() const;
  // The bytes of the part: times, steps when there are any, then the columns.
  [[nodiscard]] ByteSpan part(std::size_t i) const;
  template <class T>
  Result<std::vector<T>> read(std::size_t i) const;

  std::size_t columns_ = 0;
  bool steps_ = false;
  std::uint64_t first_ = 0;  // series
  std::size_t id_bytes_ = 0;
  std::size_t offset_bytes_ = 0;
  std::size_t parts_ = 0;
  ByteSpan ids_;
  ByteSpan offsets_;  // offsets of all parts but the first one
  ByteSpan payload_;
};

bool GroupEntry::read_entry(WireReader& directory, ByteSpan& payload) {
  columns_ = directory.get<std::uint16_t>("columns");
  const auto flags = directory.get<std::uint8_t>("flags");
  first_ = directory.get<std::uint64_t>("first series");
  const auto bytes = directory.get<std::uint32_t>("bytes");
  steps_ = (flags & kHasSteps) != 0;
  id_bytes_ = std::size_t{1} << (flags & kIdWidth);
  offset_bytes_ = (flags & kWideOffsets) != 0 ? 4 : 2;
  parts_ = columns_ + (steps_ ? 2 : 1);
  ids_ = directory.take(columns_ * id_bytes_, "series");
  offsets_ = directory.take((parts_ - 1) * offset_bytes_, "offsets");
  if (!directory.ok() || columns_ == 0 || bytes > payload.size() ||
      flags > (kIdWidth | kWideOffsets | kHasSteps))
    return false;
  payload_ = payload.first(bytes);
  payload = payload.subspan(bytes);
  return offsets_ascend() && series_ascend();
}

bool GroupEntry::offsets_ascend() const {
  std::uint64_t before = 0;
  for (std::size_t i = 0; i + 1 < parts_; ++i) {
    const std::uint64_t offset = number(offsets_, i, offset_bytes_);
    if (offset < before || offset > payload_.size()) return false;
    before = offset;
  }
  return true;
}

bool GroupEntry::series_ascend() const {
  if (number(ids_, 0, id_bytes_) != 0) return false;
  for (std::size_t i = 1; i < columns_; ++i)
    if (series(i) <= series(i - 1)) return false;
  return true;
}

std::size_t GroupEntry::find(SeriesId wanted) const {
  std::size_t low = 0;
  std::size_t high = columns_;
  while (low < high) {
    const std::size_t middle = (low + high) / 2;
    if (series(middle) < wanted)
      low = middle + 1;
    else
      high = middle;
  }
  return low < columns_ && series(low) == wanted ? low : columns_;
}

ByteSpan GroupEntry::part(std::size_t i) const {
  const std::uint64_t begin = i == 0 ? 0 : number(offsets_, i - 1, offset_bytes_);
  const std::uint64_t end = i + 1 == parts_ ? payload_.size() : number(offsets_, i, offset_bytes_);
  return payload_.subspan(begin, end - begin);
}

template <class T>
Result<std::vector<T>> GroupEntry::read(std::size_t i) const {
  const ByteSpan bytes = part(i);
  const ColumnReader<T> reader = TRY(ColumnReader<T>::open(bytes));
  if (reader.bytes() != bytes.size()) return damaged("a column is shorter than its place");
  return reader.read_all();
}

Result<SamplingGroup> GroupEntry::points() const {
  SamplingGroup group;
  group.times = TRY(read<std::int64_t>(0));
  if (group.times.empty() || !std::is_sorted(group.times.begin(), group.times.end()))
    return damaged("times do not ascend");
  if (steps_) group.steps = TRY(read<std::int64_t>(1));
  if (steps_ && group.steps.size() != group.times.size())
    return damaged("other numbers of times and steps");
  return group;
}

Result<std::vector<double>> GroupEntry::values(std::size_t column, std::size_t points) const {
  std::vector<double> values = TRY(read<double>(column + (steps_ ? 2 : 1)));
  if (values.size() != points) return damaged("other numbers of times and values");
  return values;
}

Result<std::vector<GroupEntry>> open_directory(ByteSpan bytes) {
  if (bytes.empty()) return damaged("no bytes");
  if (bytes[0] > kVersion) return fail(Code::kUnsupported, "the row group has a newer version");
  WireReader in(bytes);
  const auto version = in.get<std::uint8_t>("version");
  const auto zero = in.get<std::uint8_t>("zero");
  const auto groups = in.get<std::uint16_t>("groups");
  const auto directory_bytes = in.get<std::uint32_t>("directory bytes");
  const auto payload_bytes = in.get<std::uint32_t>("payload bytes");
  const auto crc = in.get<std::uint32_t>("checksum");
  const ByteSpan directory = in.take(directory_bytes, "directory");
  if (!in.ok() || version != kVersion || zero != 0 || payload_bytes != in.remaining())
    return damaged("its header is invalid");
  if (crc != crc32c(directory.data(), directory.size(), crc32c(bytes.data(), kCrcAt)))
    return damaged("checksum of its directory does not match");
  ByteSpan payload = in.take(payload_bytes, "payload");
  WireReader entries(directory);
  std::vector<GroupEntry> all;
  std::size_t columns = 0;
  for (std::size_t i = 0; i < groups; ++i) {
    GroupEntry& entry = all.emplace_back();
    if (!entry.read_entry(entries, payload)) return damaged("its directory is invalid");
    columns += entry.columns();
    if (columns > kRowGroupColumns) return damaged("too many columns");
  }
  if (entries.remaining() != 0 || !payload.empty()) return damaged("bytes left over");
  return all;
}

// The wanted columns of one group, by their number in it.
void read_group(const GroupEntry& entry, std::span<const std::size_t> wanted, RowGroupPart& part) {
  auto group = entry.points();
  if (!group) {
    part.damaged += wanted.size();
    return;
  }
  for (const std::size_t column : wanted) {
    auto values = entry.values(column, group->times.size());
    if (values)
      group->columns.push_back({entry.series(column), *std::move(values)});
    else
      ++part.damaged;
  }
  if (!group->columns.empty()) part.groups.push_back(*std::move(group));
}

}  // namespace

std::string encode_row_group(std::span<const SamplingGroup> groups, Effort effort) {
  std::string payload;
  WireWriter directory;
  std::size_t columns = 0;
  for (const SamplingGroup& group : groups) {
    check_group(group);
    columns += group.columns.size();
    put_columns(payload, directory, group, effort);
  }
  CORRAL_ASSERT(columns <= kRowGroupColumns);
  const std::vector<std::uint8_t> entries = directory.take();
  WireWriter header;
  header.put(kVersion);
  header.put(std::uint8_t{0});
  header.put(static_cast<std::uint16_t>(groups.size()));
  header.put(static_cast<std::uint32_t>(entries.size()));
  header.put(static_cast<std::uint32_t>(payload.size()));
  const std::vector<std::uint8_t> head = header.take();
  const std::uint32_t crc =
      crc32c(entries.data(), entries.size(), crc32c(head.data(), head.size()));
  std::string out;
  out.reserve(kHeaderBytes + entries.size() + payload.size());
  out.append(reinterpret_cast<const char*>(head.data()), head.size());
  out.append(reinterpret_cast<const char*>(&crc), sizeof crc);
  out.append(reinterpret_cast<const char*>(entries.data()), entries.size());
  return out + payload;
}

Result<std::vector<SamplingGroup>> decode_row_group(std::span<const std::uint8_t> bytes) {
  std::vector<SamplingGroup> groups;
  for (const GroupEntry& entry : TRY(open_directory(bytes))) {
    SamplingGroup group = TRY(entry.points());
    for (std::size_t i = 0; i < entry.columns(); ++i)
      group.columns.push_back({entry.series(i), TRY(entry.values(i, group.times.size()))});
    groups.push_back(std::move(group));
  }
  return groups;
}

Result<RowGroupPart> read_row_group(std::span<const std::uint8_t> bytes,
                                    std::span<const SeriesId> series) {
  std::vector<SeriesId> wanted(series.begin(), series.end());
  std::sort(wanted.begin(), wanted.end());
  wanted.erase(std::unique(wanted.begin(), wanted.end()), wanted.end());
  RowGroupPart part;
  std::vector<std::size_t> found;
  for (const GroupEntry& entry : TRY(open_directory(bytes))) {
    found.clear();
    for (const SeriesId id : wanted)
      if (const std::size_t column = entry.find(id); column < entry.columns())
        found.push_back(column);
    if (!found.empty()) read_group(entry, found, part);
  }
  return part;
}

}  // namespace corral::codec
