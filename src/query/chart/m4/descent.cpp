#include "query/chart/m4/descent.h"

#include <algorithm>

namespace corral::query::m4 {
namespace {

constexpr std::int64_t lower_points(int tier) {
  return static_cast<std::int64_t>(codec::kBucketPoints) << (4 * tier);
}
constexpr std::int64_t row_points(int tier) {
  return lower_points(tier) * static_cast<std::int64_t>(codec::kLowerBuckets);
}

}  // namespace

// A part of one row.
struct Descent::Range {
  int tier;
  const codec::PyramidRow* row;
  std::int64_t base;  // position of the row's first point
  Node node;
  [[nodiscard]] Node bucket(std::int64_t index, std::int64_t buckets) const {
    const std::int64_t first = base + index * lower_points(tier);
    return {.first = first, .end = first + buckets * lower_points(tier)};
  }
};

Result<> Descent::run(DescentSink& sink) {
  const std::int64_t end =
      view_.block_count(series_) * static_cast<std::int64_t>(codec::kColumnEntries);
  int top = 0;
  while (top + 1 < kTiers && row_points(top) < end) ++top;
  sink_ = &sink;
  return tier(top, {.first = 0, .end = end}, nullptr);
}

Result<> Descent::run(DescentSink& sink, Node node) {
  int top = 0;
  while (top + 1 < kTiers && lower_points(top + 1) <= node.points()) ++top;
  sink_ = &sink;
  return tier(top, node, nullptr);
}

Result<> Descent::tier(int tier, Node node, const codec::Bucket* cover) {
  if (tier < 0) return sink_->points(node, cover);
  const std::int64_t points = row_points(tier);
  while (node.first < node.end) {
    const std::int64_t no = node.first / points;
    const Node part{.first = node.first, .end = std::min(node.end, (no + 1) * points)};
    const Row row_of = TRY(load(tier, no));
    if (row_of) {
      TRY(row({.tier = tier, .row = row_of.get(), .base = no * points, .node = part}, cover));
    } else {
      TRY(this->tier(tier - 1, part, cover));
    }
    node.first = part.end;
  }
  return {};
}

Result<> Descent::row(const Range& range, const codec::Bucket* cover) {
  constexpr std::int64_t kFan = codec::kFanOut;
  const auto& [tier, row, base, node] = range;
  std::int64_t index = (node.first - base) / lower_points(tier);
  // The row may end before the node does, and a block's last points need not fill a bucket of it.
  const std::int64_t wanted = (node.end - base) / lower_points(tier);
  const std::int64_t end = std::min<std::int64_t>(wanted, std::ssize(row->lower));
  while (index < end) {
    const bool upper =
        index % kFan == 0 && index + kFan <= end && index / kFan < std::ssize(row->upper);
    if (upper) {
      const codec::Bucket& bucket = row->upper[static_cast<std::size_t>(index / kFan)];
      const Node whole = range.bucket(index, kFan);
      const Verdict verdict = sink_->judge(bucket, whole);
      if (verdict == Verdict::kPoints) TRY(sink_->points(whole, &bucket));
      if (verdict != Verdict::kDescend) {
        index += kFan;
        continue;
      }
    }
    for (const std::int64_t until = upper ? index + kFan : index + 1; index < until; ++index)
      TRY(lower(range, index, row->lower[static_cast<std::size_t>(index)]));
  }
  const Node rest{.first = std::max(node.first, range.bucket(index, 0).first), .end = node.end};
  return rest.first < rest.end ? this->tier(tier - 1, rest, cover) : Result<>{};
}

Result<> Descent::lower(const Range& range, std::int64_t index, const codec::Bucket& bucket) {
  const Node node = range.bucket(index, 1);
  const Verdict verdict = sink_->judge(bucket, node);
  if (verdict == Verdict::kDone) return {};
  if (verdict == Verdict::kPoints) return sink_->points(node, &bucket);
  return tier(range.tier - 1, node, &bucket);
}

// Null: there is none that can be read.
Result<Descent::Row> Descent::load(int tier, std::int64_t no) {
  auto& [last_no, last] = last_[static_cast<std::size_t>(tier)];
  if (last && last_no == no) return last;
  if (damaged_.contains({tier, no})) return Row();
  Result<Row> loaded = view_.pyramid(series_, channel_, tier, no);
  if (!loaded) {
    if (loaded.error().code == Code::kNotFound) return Row();
    if (loaded.error().code != Code::kCorruption) return loaded;
    damaged_.emplace(tier, no);
    return Row();
  }
  ++rows_read_;
  last_no = no;
  last = *std::move(loaded);
  return last;
}

}  // namespace corral::query::m4
