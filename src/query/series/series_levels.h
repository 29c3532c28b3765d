// SeriesLevels: one series of a PointView as buckets and spans of points, for the reductions of
// query/.
//
// Points are numbered in order of arrival: 8,192 to a block, then the recent chunks one after the
// other. Decodes one vector of 1,024 at a time and keeps it and one pyramid row per tier, so walks
// in order decode nothing twice. What is damaged is left out and counted. On the rate channel the
// values are rates per second (codec/block/rate.h), points of a session taken in order of arrival
// and looked back for over at most 16 blocks; NaN where there is none. Sources: the view; it must
// outlive this. One thread.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "codec/block/column.h"
#include "codec/block/pyramid.h"
#include "codec/block/rate.h"
#include "query/series/axis_cells.h"
#include "store/model/point_view.h"

namespace corral::query {

inline constexpr std::int64_t kBlockPoints = 8192;
inline constexpr std::int64_t kVectorPoints = 1024;
// The highest level whose buckets lie in one block: ascending in time, of one session, all points
// with steps or none.
inline constexpr int kBlockLevel = 2;
inline constexpr int kTopLevel = 26;

constexpr std::int64_t bucket_points(int level) {
  return std::int64_t{codec::kBucketPoints} << (2 * level);
}

// Consecutive points of one session, ascending in time. Valid until the next read.
struct PointSpan {
  std::int64_t order = 0;  // number of the first
  std::int64_t session = 0;
  std::span<const std::int64_t> times, steps;  // steps empty: none, or not asked for
  std::span<const double> values;
  // Rates, but not from a PointStream: the time of the sample that each is the rate since; of no
  // meaning where there is none.
  std::span<const std::int64_t> since;

  [[nodiscard]] std::size_t size() const { return values.size(); }
  [[nodiscard]] PointSpan part(std::size_t first, std::size_t count) const;
};

// What of a series could not be read.
struct Lost {
  std::uint64_t points = 0;  // of blocks, that were wanted
  bool spans = false;        // rows of its sessions too, in the time that was asked for
  bool operator==(const Lost&) const = default;
};

struct PointParts {
  bool times = true;
  bool steps = false;
};

class SeriesLevels {
 public:
  SeriesLevels(store::PointView& view, SeriesId series, store::Channel channel);

  [[nodiscard]] std::int64_t in_blocks() const { return in_blocks_; }  // points
  [[nodiscard]] std::int64_t points() const { return points_; }
  [[nodiscard]] std::size_t chunks() const { return recent_.size(); }

  // nullptr: there is no such bucket, or it is damaged; what lies below it may be good.
  Result<const codec::Bucket*> bucket(int level, std::int64_t no);
  // Points [order, order + count) of the blocks, all in one vector. Empty when they are damaged;
  // they are counted then.
  Result<PointSpan> read(std::int64_t order, std::size_t count, PointParts parts);
  PointSpan chunk(std::size_t no, PointParts parts);

  // One point, without disturbing what read() gave.
  struct At {
    std::int64_t time = 0;
    std::optional<std::int64_t> step;
  };
  Result<At> at(std::int64_t order);

  // So far; spans: in the range's time, of a range of steps at any time.
  [[nodiscard]] Lost lost(GridAxis axis, const AxisCells& range) const;

 private:
  struct Row {
    std::int64_t no = -1;
    std::shared_ptr<const codec::PyramidRow> row;
  };
  Result<const store::Block*> open(std::int64_t block);
  Result<> load(std::int64_t vector, PointParts parts);
  Result<> load_rates(std::int64_t vector);
  using Sample = std::optional<codec::CounterSample>;
  Result<Sample> newest_before(std::int64_t vector, std::int64_t session);
  static Sample newest_of(const store::Block& block, std::size_t first);
  void prepare_chunks();

  store::PointView& view_;
  SeriesId series_;
  store::Channel channel_;
  std::int64_t in_blocks_ = 0, points_ = 0;
  std::span<const store::Chunk> recent_;
  std::vector<std::int64_t> chunk_orders_;
  std::vector<std::vector<double>> chunk_rates_;
  std::vector<std::vector<std::int64_t>> chunk_since_;
  bool chunks_ready_ = false;

  std::array<Row, kTopLevel / 2 + 1> rows_;
  std::int64_t block_no_ = -1;
  std::shared_ptr<const store::Block> block_;  // null: damaged

  std::int64_t times_of_ = -1, steps_of_ = -1, values_of_ = -1;  // the vector held, if any
  std::int64_t bad_ = -1;                                        // a vector known to be damaged
  std::vector<std::int64_t> times_, steps_, since_;              // since_: with values_, of rates
  std::vector<double> values_;
  codec::CounterRates rates_;  // after vector rates_next_ - 1, of session rates_session_
  std::int64_t rates_next_ = -1, rates_session_ = 0;
  std::uint64_t damaged_ = 0;
};

}  // namespace corral::query
