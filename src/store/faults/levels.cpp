#include "store/faults/levels.h"

#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "codec/block/pyramid.h"

namespace corral::store::faults {
namespace {

// The points of all blocks in their order; of a damaged block, nothing.
struct Columns {
  std::vector<std::int64_t> times, steps;
  std::vector<double> values;
  std::vector<bool> good, has_steps;  // one entry per block
};

Result<> read_block(PointView& view, SeriesId series, std::int64_t no, Columns& columns) {
  const auto block = TRY(view.block(series, no));
  const std::size_t begin = columns.times.size() - codec::kColumnEntries;
  columns.has_steps.back() = block->has_steps();
  for (std::size_t at = 0; at < codec::kColumnEntries; at += codec::kVectorEntries) {
    const auto part = [&](auto& column) {
      return std::span(column).subspan(begin + at, codec::kVectorEntries);
    };
    TRY(block->times(at, part(columns.times)));
    TRY(block->values(at, part(columns.values)));
    if (block->has_steps()) TRY(block->steps(at, part(columns.steps)));
  }
  if (!std::ranges::is_sorted(std::span(columns.times).subspan(begin)))
    return fail(Code::kInternal, "times go back within a block");
  return {};
}

Result<Columns> read_blocks(PointView& view, SeriesId series) {
  Columns columns;
  for (std::int64_t no = 0; no < view.block_count(series); ++no) {
    columns.times.resize(columns.times.size() + codec::kColumnEntries);
    columns.steps.resize(columns.times.size());
    columns.values.resize(columns.times.size());
    columns.has_steps.push_back(false);
    const auto read = read_block(view, series, no, columns);
    if (!read && read.error().code != Code::kCorruption) return tl::unexpected(read.error());
    columns.good.push_back(read.has_value());
  }
  return columns;
}

bool good_within(const Columns& columns, std::size_t begin, std::size_t size) {
  for (std::size_t at = begin; at < begin + size; at += codec::kVectorEntries) {
    if (!columns.good[at / codec::kColumnEntries]) return false;
  }
  return true;
}

// By plain passes over the points; sums may be added up in any order.
bool agrees(const codec::Bucket& bucket, const Columns& columns, std::size_t begin,
            std::size_t size) {
  std::size_t finite = 0;
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  double low = kInfinity, high = -kInfinity, sum = 0, magnitude = 0;
  for (std::size_t i = begin; i < begin + size; ++i) {
    const double value = columns.values[i];
    if (!std::isfinite(value)) continue;
    ++finite;
    low = std::min(low, value);
    high = std::max(high, value);
    sum += value;
    magnitude += std::abs(value);
  }
  const auto times = std::span(columns.times).subspan(begin, size);
  const auto [t0, t1] = std::ranges::minmax(times);
  if (bucket.count != size || bucket.not_finite() != size - finite) return false;
  if (bucket.t0 != t0 || bucket.t1 != t1) return false;
  if (finite == 0) return true;
  const auto at = [&](std::uint32_t position) { return columns.values.at(begin + position); };
  const bool added = !std::isfinite(magnitude) || std::abs(bucket.sum - sum) <= 1e-9 * magnitude;
  return added && bucket.min == low && bucket.max == high && at(bucket.min_at) == low &&
         at(bucket.max_at) == high && at(bucket.first_at) == bucket.first &&
         at(bucket.last_at) == bucket.last;
}

Result<> check_level(std::span<const codec::Bucket> buckets, const Columns& columns,
                     std::size_t begin, std::size_t size) {
  for (const codec::Bucket& bucket : buckets) {
    if (begin + size > columns.times.size())
      return fail(Code::kInternal, "a bucket of points that are in no block");
    if (good_within(columns, begin, size) && !agrees(bucket, columns, begin, size)) {
      return fail(Code::kInternal,
                  fmt::format("the bucket of points [{}, {}) is wrong", begin, begin + size));
    }
    begin += size;
  }
  return {};
}

// Counts damaged rows. Tier 0 must cover every block.
Result<std::size_t> check_pyramid(PointView& view, SeriesId series, const Columns& columns) {
  std::size_t damaged = 0;
  std::size_t size = codec::kBucketPoints;
  for (int tier = 0; size * codec::kLowerBuckets / 16 <= columns.times.size(); ++tier) {
    const std::size_t row_points = size * codec::kLowerBuckets;
    for (std::size_t no = 0; no * row_points < columns.times.size(); ++no) {
      const auto row = view.pyramid(series, Channel::kValue, tier, static_cast<std::int64_t>(no));
      if (!row && row.error().code == Code::kNotFound && tier > 0) continue;
      if (!row && row.error().code == Code::kCorruption) {
        ++damaged;
        continue;
      }
      if (!row) return tl::unexpected(row.error());
      TRY(check_level((*row)->lower, columns, no * row_points, size));
      TRY(check_level((*row)->upper, columns, no * row_points, size * codec::kFanOut));
      const std::size_t covered =
          std::min(row_points, columns.times.size() - no * row_points) / size;
      if (tier == 0 && (*row)->lower.size() != covered)
        return fail(Code::kInternal, "blocks without a bucket");
    }
    size *= std::size_t{codec::kFanOut} * codec::kFanOut;
  }
  return damaged;
}

void take(const Columns& columns, SeriesReading& reading) {
  for (std::size_t i = 0; i < columns.times.size(); ++i) {
    const std::size_t block = i / codec::kColumnEntries;
    if (!columns.good[block]) continue;
    reading.points.push_back(
        {.time = columns.times[i],
         .step = columns.has_steps[block] ? std::optional(columns.steps[i]) : std::nullopt,
         .bits = std::bit_cast<std::uint64_t>(columns.values[i])});
  }
}

void take(const Chunk& chunk, SeriesReading& reading) {
  for (std::size_t i = 0; i < chunk.values.size(); ++i) {
    reading.points.push_back({.time = (*chunk.times)[i],
                              .step = chunk.steps ? std::optional((*chunk.steps)[i]) : std::nullopt,
                              .bits = std::bit_cast<std::uint64_t>(chunk.values[i])});
  }
}

}  // namespace

Result<SeriesReading> read_series(PointView& view, SeriesId series) {
  const Columns columns = TRY(read_blocks(view, series));
  SeriesReading reading;
  reading.blocks = columns.good.size();
  reading.damaged = view.damaged(series).size() + TRY(check_pyramid(view, series, columns));
  reading.damaged += static_cast<std::size_t>(std::ranges::count(columns.good, false));
  take(columns, reading);
  for (const Chunk& chunk : view.recent(series)) {
    if (!std::ranges::is_sorted(*chunk.times))
      return fail(Code::kInternal, "times go back within a chunk");
    take(chunk, reading);
  }
  return reading;
}

}  // namespace corral::store::faults
