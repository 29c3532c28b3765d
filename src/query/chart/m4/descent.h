// Descent: walks the blocks of one series from the top of its pyramid down, in order of arrival.
//
// The sink says of each bucket whether it is done with it, wants what is below it, or its points.
// What no row of a tier covers (its end, a damaged row) is looked for in the tier below, and what
// tier 0 does not cover goes to the sink as points. One thread; lives as long as one query.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <set>

#include "codec/block/pyramid.h"
#include "store/model/point_view.h"

namespace corral::query::m4 {

// Positions [first, end) of a series: points of block `no` begin at no * kColumnEntries.
struct Node {
  std::int64_t first = 0, end = 0;
  [[nodiscard]] std::int64_t points() const { return end - first; }
  // Of one block, thus of one session and ascending in time; true of buckets of level 0 to 2.
  [[nodiscard]] bool in_one_block() const {
    constexpr auto kEntries = static_cast<std::int64_t>(codec::kColumnEntries);
    return first / kEntries == (end - 1) / kEntries;
  }
};

enum class Verdict : std::uint8_t { kDone, kDescend, kPoints };

class DescentSink {
 public:
  virtual ~DescentSink() = default;
  virtual Verdict judge(const codec::Bucket& bucket, Node node) = 0;
  // `cover`: the smallest bucket over the node that is known; null: none.
  virtual Result<> points(Node node, const codec::Bucket* cover) = 0;
};

class Descent {
 public:
  Descent(store::PointView& view, SeriesId series, store::Channel channel)
      : view_(view), series_(series), channel_(channel) {}
  // All blocks.
  Result<> run(DescentSink& sink);
  // A node that a sink was given.
  Result<> run(DescentSink& sink, Node node);

  [[nodiscard]] std::uint32_t rows_read() const { return rows_read_; }
  [[nodiscard]] std::uint32_t damaged_rows() const {
    return static_cast<std::uint32_t>(damaged_.size());
  }

 private:
  static constexpr int kTiers = 12;  // enough for 2^63 points
  using Row = std::shared_ptr<const codec::PyramidRow>;
  struct Range;

  Result<> tier(int tier, Node node, const codec::Bucket* cover);
  Result<> row(const Range& range, const codec::Bucket* cover);
  Result<> lower(const Range& range, std::int64_t index, const codec::Bucket& bucket);
  Result<Row> load(int tier, std::int64_t no);

  store::PointView& view_;
  SeriesId series_;
  store::Channel channel_;
  DescentSink* sink_ = nullptr;
  std::array<std::pair<std::int64_t, Row>, kTiers> last_;  // of each tier, by number
  std::set<std::pair<int, std::int64_t>> damaged_;
  std::uint32_t rows_read_ = 0;
};

}  // namespace corral::query::m4
