#include "store/model/statistics.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <tuple>

#include "codec/block/column.h"
#include "codec/block/pyramid.h"
#include "codec/crc32c.h"
#include "codec/wire.h"

namespace corral::store {
namespace {

double comparable(double value) { return std::isnan(value) ? 0 : value; }

}  // namespace

bool TopPoint::below(const TopPoint& other) const {
  return std::tuple(step, time, comparable(value)) <
         std::tuple(other.step, other.time, comparable(other.value));
}

bool TopPoint::operator==(const TopPoint& other) const {
  return step == other.step && time == other.time &&
         std::bit_cast<std::uint64_t>(value) == std::bit_cast<std::uint64_t>(other.value);
}

void SeriesDelta::add(std::int64_t time, std::optional<std::int64_t> step, double value) {
  const TopPoint point{.step = step.value_or(0), .time = time, .value = value};
  if (points == 0 || top.below(point)) top = point;
  if (points == 0 || time < first_time) {
    first_time = time;
    first_step = step;
  }
  if (points == 0 || time > last_time) last_time = time;
  ++points;
  if (!std::isfinite(value)) {
    ++nan;
    return;
  }
  sum += value;
  if (!min || value < *min) min = value;
  if (!max || value > *max) max = value;
  if (!value_time || time >= *value_time) {
    value_time = time;
    value_step = step;
    last = value;
  }
}

void SeriesDelta::add(const SeriesDelta& later) {
  if (later.points == 0) return;
  if (points == 0) {
    *this = later;
    return;
  }
  if (later.first_time < first_time) {
    first_time = later.first_time;
    first_step = later.first_step;
  }
  last_time = std::max(last_time, later.last_time);
  points += later.points;
  nan += later.nan;
  sum += later.sum;
  if (top.below(later.top)) top = later.top;
  if (later.min && (!min || *later.min < *min)) min = later.min;
  if (later.max && (!max || *later.max > *max)) max = later.max;
  if (later.value_time && (!value_time || *later.value_time >= *value_time)) {
    value_time = later.value_time;
    value_step = later.value_step;
    last = later.last;
  }
}

void add_column(SeriesDelta& delta, const codec::SampleGroup& group, const codec::Column& column,
                const ClockAnchor& anchor) {
  std::size_t next = 0;
  for (std::size_t row = 0; row < group.times.size(); ++row) {
    if (!column.present.empty() && !column.present[row]) continue;
    const auto step = group.steps.empty() ? std::nullopt : std::optional(group.steps[row]);
    delta.add(ns_of(anchor.to_utc(group.times[row])), step, column.values[next++]);
  }
}

namespace {

constexpr std::size_t kIntegers = 11;
constexpr std::size_t kReals = 5;
constexpr std::int64_t kFirstStep = 1;  // flags
constexpr std::int64_t kValue = 2;
constexpr std::int64_t kValueStep = 4;

// From the columns that slices were stored as before they were rows: id, points, NaNs, first and
// last time, flags, first step, time and step of the newest value, step and time of the top point;
// newest value, minimum, maximum, sum, value of the top point.
SeriesDelta to_delta(const std::array<std::int64_t, kIntegers>& i,
                     const std::array<double, kReals>& r) {
  SeriesDelta s;
  s.points = i[1];
  s.nan = i[2];
  s.first_time = i[3];
  s.last_time = i[4];
  if ((i[5] & kFirstStep) != 0) s.first_step = i[6];
  if ((i[5] & kValueStep) != 0) s.value_step = i[8];
  s.sum = r[3];
  s.top = {.step = i[9], .time = i[10], .value = r[4]};
  if ((i[5] & kValue) == 0) return s;
  s.value_time = i[7];
  s.last = r[0];
  s.min = r[1];
  s.max = r[2];
  return s;
}

TopPoint top_point(const codec::SamplingGroup& group, std::span<const double> values) {
  TopPoint top;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const TopPoint point{.step = group.steps.empty() ? 0 : group.steps[i],
                         .time = group.times[i],
                         .value = values[i]};
    if (i == 0 || top.below(point)) top = point;
  }
  return top;
}

SeriesDelta to_delta(const codec::SamplingGroup& group, std::span<const double> values) {
  const codec::Bucket bucket = codec::make_bucket(group.times, group.steps, values);
  SeriesDelta s;
  s.points = bucket.count;
  s.nan = bucket.not_finite();
  s.first_time = group.times.front();
  s.last_time = group.times.back();
  s.top = top_point(group, values);
  if (!group.steps.empty()) s.first_step = group.steps.front();
  if (bucket.count == bucket.not_finite()) return s;
  s.value_time = group.times[bucket.last_at];
  if (!group.steps.empty()) s.value_step = group.steps[bucket.last_at];
  s.last = bucket.last;
  s.min = bucket.min;
  s.max = bucket.max;
  s.sum = bucket.sum;
  return s;
}

template <class T>
Result<std::vector<T>> next_column(std::span<const std::uint8_t>& bytes) {
  const auto reader = TRY(codec::ColumnReader<T>::open(bytes));
  bytes = bytes.subspan(reader.bytes());
  return reader.read_all();
}

// ---- rows
constexpr std::uint8_t kRows = 0xFF;  // the first byte; columns have their version there
constexpr std::uint8_t kRowsVersion = 1;
constexpr std::size_t kRowsHeader = 2;
constexpr std::int64_t kTopIsNewest = 8;  // flags; columns have the first three
constexpr std::int64_t kMinIsNewest = 16;
constexpr std::int64_t kMaxIsNewest = 32;

bool same_bits(double a, double b) {
  return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b);
}
std::int64_t minus(std::int64_t a, std::int64_t b) {  // wraps
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) - static_cast<std::uint64_t>(b));
}

std::int64_t flags_of_row(const SeriesDelta& s) {
  std::int64_t flags = (s.first_step ? kFirstStep : 0) | (s.value_step ? kValueStep : 0);
  if (!s.last) return flags;
  flags |= kValue;
  const TopPoint newest{.step = s.value_step.value_or(0), .time = *s.value_time, .value = *s.last};
  if (s.top == newest) flags |= kTopIsNewest;
  if (same_bits(*s.min, *s.last)) flags |= kMinIsNewest;
  if (same_bits(*s.max, *s.last)) flags |= kMaxIsNewest;
  return flags;
}

void put_row(codec::WireWriter& out, const SeriesDelta& s) {
  const std::int64_t flags = flags_of_row(s);
  out.varint(flags);
  out.varint(s.points);
  out.varint(s.nan);
  out.varint(s.first_time);
  out.varint(minus(s.last_time, s.first_time));
  out.put(s.sum);
  if (s.first_step) out.varint(*s.first_step);
  if (s.value_step) out.varint(*s.value_step);
  if (s.last) {
    out.varint(minus(s.last_time, *s.value_time));
    out.put(*s.last);
    if ((flags & kMinIsNewest) == 0) out.put(*s.min);
    if ((flags & kMaxIsNewest) == 0) out.put(*s.max);
  }
  if ((flags & kTopIsNewest) != 0) return;
  out.varint(s.top.step);
  out.varint(minus(s.last_time, s.top.time));
  out.put(s.top.value);
}

SeriesDelta get_row(codec::WireReader& in) {
  SeriesDelta s;
  const std::int64_t flags = in.varint("flags");
  const auto has = [&](std::int64_t flag) { return (flags & flag) != 0; };
  s.points = in.varint("points");
  s.nan = in.varint("NaNs");
  s.first_time = in.varint("first time");
  s.last_time = minus(s.first_time, minus(0, in.varint("last time")));
  s.sum = in.get<double>("sum");
  if (has(kFirstStep)) s.first_step = in.varint("first step");
  if (has(kValueStep)) s.value_step = in.varint("step of the newest value");
  if (has(kValue)) {
    s.value_time = minus(s.last_time, in.varint("time of the newest value"));
    s.last = in.get<double>("newest value");
    s.min = has(kMinIsNewest) ? *s.last : in.get<double>("minimum");
    s.max = has(kMaxIsNewest) ? *s.last : in.get<double>("maximum");
  }
  if (has(kValue) && has(kTopIsNewest)) {
    s.top = {.step = s.value_step.value_or(0), .time = *s.value_time, .value = *s.last};
  } else {
    s.top.step = in.varint("greatest step");
    s.top.time = minus(s.last_time, in.varint("its time"));
    s.top.value = in.get<double>("its value");
  }
  if (in.remaining() != 0) in.bad("row", "longer than its fields");
  return s;
}

// The rows, after the header and before the checksum.
Result<std::span<const std::uint8_t>> rows_in(std::span<const std::uint8_t> bytes) {
  std::uint32_t crc = 0;
  if (bytes.size() < kRowsHeader + sizeof crc)
    return fail(Code::kCorruption, "slice statistics: they end inside their header");
  if (bytes[1] == 0) return fail(Code::kCorruption, "slice statistics: no version");
  if (bytes[1] > kRowsVersion)
    return fail(Code::kUnsupported, "slice statistics of a newer version");
  const auto checked = bytes.first(bytes.size() - sizeof crc);
  std::memcpy(&crc, checked.data() + checked.size(), sizeof crc);
  if (codec::crc32c(checked.data(), checked.size()) != crc)
    return fail(Code::kCorruption, "slice statistics: checksum does not match");
  return checked.subspan(kRowsHeader);
}

// Calls visit(id, reader of the row) for each row.
template <class Visit>
Result<> walk_rows(std::span<const std::uint8_t> bytes, Visit visit) {
  codec::WireReader in(TRY(rows_in(bytes)));
  std::optional<std::int64_t> previous;
  while (in.ok() && in.remaining() > 0) {
    const std::int64_t id = minus(previous.value_or(0), minus(0, in.varint("series")));
    if (previous && id <= *previous) in.bad("series", "not ascending");
    previous = id;
    codec::WireReader row(in.take(in.get<std::uint8_t>("length"), "row"));
    if (in.ok()) visit(SeriesId{id}, row);
    if (!row.ok()) in.bad("row", "not as long as it says");
  }
  if (!in.ok()) return fail(Code::kCorruption, "slice statistics: " + in.finish(0).error().message);
  return {};
}

// All series that were stored as columns, a column for each field.
Result<SliceStatistics> decode_columns(std::span<const std::uint8_t> bytes) {
  std::array<std::vector<std::int64_t>, kIntegers> integers;
  std::array<std::vector<double>, kReals> reals;
  for (auto& column : integers) column = TRY(next_column<std::int64_t>(bytes));
  for (auto& column : reals) column = TRY(next_column<double>(bytes));
  const std::size_t n = integers[0].size();
  const auto as_long = [&](const auto& column) { return column.size() == n; };
  if (!std::ranges::all_of(integers, as_long) || !std::ranges::all_of(reals, as_long))
    return fail(Code::kCorruption, "slice statistics: columns differ in length");
  SliceStatistics statistics;
  for (std::size_t row = 0; row < n; ++row) {
    std::array<std::int64_t, kIntegers> i{};
    std::array<double, kReals> r{};
    for (std::size_t k = 0; k < kIntegers; ++k) i[k] = integers[k][row];
    for (std::size_t k = 0; k < kReals; ++k) r[k] = reals[k][row];
    statistics.emplace(SeriesId{i[0]}, to_delta(i, r));
  }
  return statistics;
}

bool is_rows(std::span<const std::uint8_t> bytes) { return !bytes.empty() && bytes[0] == kRows; }

}  // namespace

void add_groups(SliceStatistics& statistics, std::span<const codec::SamplingGroup> groups) {
  for (const codec::SamplingGroup& group : groups) {
    for (const auto& column : group.columns)
      statistics[column.series].add(to_delta(group, column.values));
  }
}

std::string encode_statistics(const SliceStatistics& statistics) {
  codec::WireWriter out;
  out.put(kRows);
  out.put(kRowsVersion);
  std::int64_t previous = 0;
  for (const auto& [id, series] : statistics) {
    codec::WireWriter writer;
    put_row(writer, series);
    const std::vector<std::uint8_t> row = writer.take();
    out.varint(minus(id.value, previous));
    out.put(static_cast<std::uint8_t>(row.size()));
    out.append(row.data(), row.size());
    previous = id.value;
  }
  const std::vector<std::uint8_t> rows = out.take();
  const std::uint32_t crc = codec::crc32c(rows.data(), rows.size());
  std::string encoded(rows.begin(), rows.end());
  return encoded.append(reinterpret_cast<const char*>(&crc), sizeof crc);
}

Result<SliceStatistics> decode_statistics(std::span<const std::uint8_t> bytes) {
  if (!is_rows(bytes)) return decode_columns(bytes);
  SliceStatistics statistics;
  TRY(walk_rows(
      bytes, [&](SeriesId id, codec::WireReader& row) { statistics.emplace(id, get_row(row)); }));
  return statistics;
}

Result<> read_statistics_of(std::span<const std::uint8_t> bytes, const std::set<SeriesId>& wanted,
                            const std::function<void(SeriesId, const SeriesDelta&)>& take) {
  if (is_rows(bytes)) {
    return walk_rows(bytes, [&](SeriesId id, codec::WireReader& row) {
      if (!wanted.contains(id)) return;
      const SeriesDelta delta = get_row(row);
      if (row.ok()) take(id, delta);
    });
  }
  const SliceStatistics statistics = TRY(decode_columns(bytes));
  for (const auto& [id, delta] : statistics) {
    if (wanted.contains(id)) take(id, delta);
  }
  return {};
}

}  // namespace corral::store
