#include <algorithm>

#include "codec/frame_parts.h"
#include "core/limits.h"

namespace corral::codec {
namespace {

void put_deltas(WireWriter& out, const std::vector<std::int64_t>& values) {
  std::int64_t previous = 0;
  for (const std::int64_t v : values) {
    // Wraps on purpose: the reader adds with the same wrap.
    out.varint(static_cast<std::int64_t>(static_cast<std::uint64_t>(v) -
                                         static_cast<std::uint64_t>(previous)));
    previous = v;
  }
}

std::vector<std::int64_t> get_deltas(WireReader& in, std::size_t rows, const char* field) {
  std::vector<std::int64_t> values;
  values.reserve(rows);
  std::uint64_t previous = 0;
  for (std::size_t i = 0; i < rows && in.ok(); ++i) {
    previous += static_cast<std::uint64_t>(in.varint(field));
    values.push_back(static_cast<std::int64_t>(previous));
  }
  return values;
}

void put_column(WireWriter& out, const Column& column, std::size_t rows) {
  CORRAL_ASSERT(column.present.empty() || column.present.size() == rows);
  CORRAL_ASSERT(column.values.size() ==
                (column.present.empty()
                     ? rows
                     : static_cast<std::size_t>(std::ranges::count(column.present, true))));
  out.put(column.series);
  out.put(static_cast<std::uint8_t>(!column.present.empty()));
  std::uint8_t bits = 0;
  for (std::size_t i = 0; i < column.present.size(); ++i) {
    if (column.present[i]) bits = static_cast<std::uint8_t>(bits | 1u << i % 8);
    if (i % 8 == 7 || i + 1 == column.present.size()) out.put(std::exchange(bits, std::uint8_t{0}));
  }
  out.append(column.values.data(), column.values.size() * sizeof(double));
}

Column get_column(WireReader& in, std::size_t rows) {
  Column column;
  column.series = in.get<std::uint32_t>("series");
  const auto has_bitmap = in.get<std::uint8_t>("presence");
  if (has_bitmap > 1) in.bad("presence", "unknown value");
  std::size_t n = rows;
  if (has_bitmap == 1) {
    const auto bits = in.take((rows + 7) / 8, "presence");
    if (!in.ok()) return column;
    column.present.resize(rows);
    for (std::size_t i = 0; i < rows; ++i) column.present[i] = (bits[i / 8] >> i % 8 & 1) != 0;
    n = static_cast<std::size_t>(std::ranges::count(column.present, true));
  }
  const auto raw = in.take(n * sizeof(double), "values");
  column.values.resize(raw.size() / sizeof(double));
  if (!raw.empty()) std::memcpy(column.values.data(), raw.data(), raw.size());
  return column;
}

void put_group(WireWriter& out, const SampleGroup& group) {
  CORRAL_ASSERT(group.steps.empty() || group.steps.size() == group.times.size());
  out.put(static_cast<std::uint32_t>(group.times.size()));
  out.put(static_cast<std::uint8_t>(!group.steps.empty()));
  out.put(static_cast<std::uint32_t>(group.columns.size()));
  std::vector<std::int64_t> times(group.times.size());
  std::ranges::transform(group.times, times.begin(), [](BootTime t) { return ns_of(t); });
  put_deltas(out, times);
  put_deltas(out, group.steps);
  for (const Column& column : group.columns) put_column(out, column, group.times.size());
}

SampleGroup get_group(WireReader& in) {
  SampleGroup group;
  const std::size_t rows = in.count(in.get<std::uint32_t>("rows"), 1, "rows");
  const auto has_steps = in.get<std::uint8_t>("steps");
  if (has_steps > 1) in.bad("steps", "unknown value");
  const std::size_t columns = in.count(in.get<std::uint32_t>("columns"), 5, "columns");
  for (const std::int64_t t : get_deltas(in, rows, "times")) group.times.push_back(boot_time(t));
  if (has_steps == 1) group.steps = get_deltas(in, rows, "steps");
  for (std::size_t i = 0; i < columns && in.ok(); ++i)
    group.columns.push_back(get_column(in, rows));
  return group;
}

}  // namespace

Bytes body_of(const SamplesBody& body) {
  WireWriter out;
  out.put(static_cast<std::uint32_t>(body.groups.size()));
  for (const SampleGroup& group : body.groups) put_group(out, group);
  return out.take();
}

Result<SamplesBody> decode_samples(const Frame& frame) {
  WireReader in(frame.body);
  SamplesBody body;
  const std::size_t groups = in.count(in.get<std::uint32_t>("groups"), 9, "groups");
  for (std::size_t i = 0; i < groups && in.ok(); ++i) body.groups.push_back(get_group(in));
  return in.finish(std::move(body));
}

}  // namespace corral::codec
