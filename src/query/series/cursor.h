// Cursor: one series of a PointView, for everything that reads points: charts, lines, windows,
// exports, histories.
//
// Points are numbered in order of arrival: 8,192 to a block, then the recent chunks one after the
// other. descend() walks the pyramid over the blocks from the top; read() decodes points of a block
// a vector of 1,024 at a time and keeps the block's, chunk() gives recent points. Walks in order
// decode nothing twice. Damaged parts are left out and counted. On the rate channel values are
// rates per second (codec/block/rate.h) of a session's points in order of arrival; the sample
// before the first is looked for in at most 64 blocks, and a point without a rate is NaN. `view`
// must outlive the cursor. Memory: one block, one pyramid row per tier. One thread.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "codec/block/column.h"
#include "codec/block/pyramid.h"
#include "codec/block/rate.h"
#include "query/series/axis_cells.h"
#include "store/model/point_view.h"

namespace corral::query {

inline constexpr auto kBlockPoints = static_cast<std::int64_t>(codec::kColumnEntries);
inline constexpr auto kVectorPoints = static_cast<std::int64_t>(codec::kVectorEntries);
// The highest level whose buckets lie in one block: ascending in time, of one session, all points
// with steps or none.
inline constexpr int kBlockLevel = 2;
// A row of tier T has buckets of the levels 2T (lower) and 2T + 1 (upper).
inline constexpr int kTiers = 12;  // 2^60 points
inline constexpr int kTopLevel = 2 * kTiers - 1;

constexpr std::int64_t bucket_points(int level) {
  return std::int64_t{codec::kBucketPoints} << (2 * level);
}

// Points [first, end) of the blocks.
struct Node {
  std::int64_t first = 0, end = 0;
  int level = -1;  // the level of the bucket over them; -1: none
  [[nodiscard]] std::int64_t points() const { return end - first; }
  // One block's points are of one session and ascend in time; true for the levels 0 to 2.
  [[nodiscard]] bool in_one_block() const {
    return first / kBlockPoints == (end - 1) / kBlockPoints;
  }
};

// Consecutive points of one session, ascending in time. Valid until the next read.
struct PointSpan {
  std::int64_t order = 0;  // number of the first
  std::int64_t session = 0;
  std::span<const std::int64_t> times, steps;  // steps empty: none, or not asked for
  std::span<const double> values;
  // For rates, but not from a PointStream: the time of the sample that each is the rate since;
  // meaningless where there is no rate.
  std::span<const std::int64_t> since;

  [[nodiscard]] std::size_t size() const { return values.size(); }
  [[nodiscard]] PointSpan part(std::size_t first, std::size_t count) const;
};

// Points of a series that could not be read.
struct Lost {
  std::uint64_t points = 0;  // in blocks
  bool spans = false;        // rows of its sessions too, in the time that was asked for
  void add(const Lost& other) {
    points += other.points;
    spans = spans || other.spans;
  }
  bool operator==(const Lost&) const = default;
};

// An answer reports damage beside its data; other errors fail it.
inline bool is_damage(const Error& error) {
  return error.code == Code::kCorruption || error.code == Code::kNotFound;
}

struct PointParts {
  bool times = true;
  bool steps = false;
};

// The order in which rates of recent points are computed if chunks of a session overlap in time.
enum class LateChunks : std::uint8_t {
  kAsTheyCame,
  kInOrderOfTime,  // such a session's points come as one chunk, in the place of its first one
};

enum class Verdict : std::uint8_t { kDone, kDescend, kPoints };

struct Descent {
  std::optional<Node> within = {};  // default: all blocks
  int max_level = kTopLevel;        // rows above it are not read; its tier's upper buckets are
  bool backward = false;            // from the last node to the first
};

class Cursor {
 public:
  Cursor(store::PointView& view, SeriesId series, store::Channel channel,
         LateChunks late = LateChunks::kAsTheyCame);

  [[nodiscard]] std::int64_t in_blocks() const { return in_blocks_; }  // points
  [[nodiscard]] std::int64_t points() const { return points_; }
  [[nodiscard]] std::size_t chunks() const { return recent_.size(); }
  // As they lie in the view: no rates, nothing merged.
  [[nodiscard]] std::span<const store::Chunk> recent() const { return recent_; }

  // Walks the pyramid over the blocks from the top. A sink has
  //   Verdict judge(const codec::Bucket&, Node);
  //     kDescend: asks for the smaller buckets, below level 0 for the points
  //   Result<> points(Node, const codec::Bucket* cover);
  //     cover: the smallest known bucket over the node; null: no row covers it (it is damaged, or
  //     the series' end is in no row yet)
  template <class Sink>
  Result<> descend(Sink& sink, const Descent& how = {});

  // nullptr: there is no such bucket, or it is damaged; those below it may be good.
  Result<const codec::Bucket*> bucket(int level, std::int64_t no);
  // nullptr: as for bucket().
  Result<std::shared_ptr<const codec::PyramidRow>> row(int tier, std::int64_t no);

  // Points [order, order + count) of one block, up to the first damaged vector of 1,024. The points
  // of that vector are counted as lost.
  Result<PointSpan> read(std::int64_t order, std::size_t count, PointParts parts);
  // Calls `each(PointSpan)` for the node's points, but those that are damaged; with `axis` kStep
  // also but those that have no step. Returns false if some are damaged.
  template <class Each>
  Result<bool> read_all(Node node, PointParts parts, GridAxis axis, Each each);
  // Empty for a chunk that was merged into an earlier one.
  Result<PointSpan> chunk(std::size_t no, PointParts parts);

  // One point's time, and its step if asked for; leaves the spans of read() and chunk() as they
  // are. kCorruption: damaged.
  struct At {
    std::int64_t time = 0;
    std::optional<std::int64_t> step;
  };
  Result<At> at(std::int64_t order, bool step = true);

  // So far; spans: in the range's time, of a range of steps at any time.
  [[nodiscard]] Lost lost(GridAxis axis, const AxisCells& range) const;
  [[nodiscard]] std::uint32_t rows_read() const { return rows_read_; }
  [[nodiscard]] std::uint32_t damaged_rows() const {
    return static_cast<std::uint32_t>(damaged_rows_.size());
  }
  [[nodiscard]] std::uint32_t damaged_blocks() const {
    return static_cast<std::uint32_t>(damaged_blocks_.size());
  }

 private:
  using Row = std::shared_ptr<const codec::PyramidRow>;
  using BlockPtr = std::shared_ptr<const store::Block>;
  using Sample = std::optional<codec::CounterSample>;
  struct HeldRow {
    std::int64_t no = -1;
    Row row;
  };
  // A recent chunk, or several as one.
  struct Recent {
    PointSpan span;
    std::vector<std::int64_t> times, since;  // times: for merged points
    std::vector<double> values;              // for merged points and rates
  };

  Result<const Row*> held_row(int tier, std::int64_t no);
  Result<const store::Block*> open(std::int64_t no);
  Result<BlockPtr> block(std::int64_t no);
  Result<> load(std::int64_t vector, PointParts parts);
  Result<> load_rates(std::int64_t vector);
  Result<> note_damage(Result<> result, std::int64_t block);
  Result<Sample> newest_before(std::int64_t order, std::int64_t session);
  Result<Sample> newest_in(const store::Block& block, std::int64_t vector);
  Result<> prepare_chunks();
  void merge_late_chunks();

  store::PointView& view_;
  SeriesId series_;
  store::Channel channel_;
  LateChunks late_;
  std::int64_t in_blocks_ = 0, points_ = 0;
  std::span<const store::Chunk> recent_;
  std::vector<Recent> chunks_;
  bool chunks_ready_ = false;

  std::array<HeldRow, kTiers> rows_;
  std::set<std::pair<int, std::int64_t>> damaged_rows_;
  std::uint32_t rows_read_ = 0;

  // The block held, and which vectors of it are decoded: bit v is vector v.
  std::int64_t block_no_ = -1;
  BlockPtr block_;  // null: damaged
  std::unique_ptr<std::int64_t[]> times_, steps_, since_;
  std::unique_ptr<double[]> values_;
  std::uint32_t decoded_times_ = 0, decoded_steps_ = 0, decoded_values_ = 0;
  std::uint32_t damaged_vectors_ = 0;
  codec::CounterRates rates_;  // after vector rates_next_ - 1, of session rates_session_
  std::int64_t rates_next_ = -1, rates_session_ = 0;
  std::set<std::int64_t> damaged_blocks_;  // wholly or in part
  std::uint64_t lost_points_ = 0;
};

namespace detail {

// One descent of a cursor.
template <class Sink>
class PyramidWalk {
 public:
  PyramidWalk(Cursor& cursor, Sink& sink, bool backward)
      : cursor_(cursor), sink_(sink), backward_(backward) {}

  // Nodes that no row of a tier covers are looked up in the tier below.
  Result<> tier(int tier, Node node, const codec::Bucket* cover) {
    if (node.first >= node.end) return {};
    if (tier < 0) return sink_.points(node, cover);
    const std::int64_t points = bucket_points(2 * tier) * kRowBuckets;
    const std::int64_t begin = node.first / points;
    const std::int64_t end = (node.end - 1) / points + 1;
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t no = turned(i, begin, end);
      const Node part{.first = std::max(node.first, no * points),
                      .end = std::min(node.end, (no + 1) * points)};
      const auto row = TRY(cursor_.row(tier, no));
      if (row == nullptr) {
        TRY(this->tier(tier - 1, part, cover));
      } else {
        TRY(this->row({.row = *row, .tier = tier, .base = no * points}, part, cover));
      }
    }
    return {};
  }

 private:
  static constexpr auto kRowBuckets = static_cast<std::int64_t>(codec::kLowerBuckets);
  struct RowPlace {
    const codec::PyramidRow& row;
    int tier;
    std::int64_t base;  // number of the row's first point
    [[nodiscard]] Node node(std::int64_t index, int level) const {
      const std::int64_t first = base + index * bucket_points(2 * tier);
      return {.first = first, .end = first + bucket_points(level), .level = level};
    }
  };

  [[nodiscard]] std::int64_t turned(std::int64_t i, std::int64_t begin, std::int64_t end) const {
    return backward_ ? begin + end - 1 - i : i;
  }

  // Groups of lower buckets with the upper one over them. The row may end before the node does, and
  // a block's last points need not fill a bucket of it.
  Result<> row(const RowPlace& place, Node node, const codec::Bucket* cover) {
    const std::int64_t size = bucket_points(2 * place.tier);
    const std::int64_t begin = (node.first - place.base) / size;
    const std::int64_t end =
        std::min<std::int64_t>((node.end - place.base) / size, std::ssize(place.row.lower));
    const Node rest{.first = std::max(node.first, place.base + end * size), .end = node.end};
    if (backward_) TRY(tier(place.tier - 1, rest, cover));
    const std::int64_t groups = begin / codec::kFanOut;
    const std::int64_t groups_end = (end + codec::kFanOut - 1) / codec::kFanOut;
    for (std::int64_t i = groups; begin < end && i < groups_end; ++i) {
      const std::int64_t no = turned(i, groups, groups_end);
      TRY(group(place, std::max(begin, no * codec::kFanOut),
                std::min(end, (no + 1) * codec::kFanOut)));
    }
    return backward_ ? Result<>{} : tier(place.tier - 1, rest, cover);
  }

  // Lower buckets [begin, end) of one upper one.
  Result<> group(const RowPlace& place, std::int64_t begin, std::int64_t end) {
    const auto upper = static_cast<std::size_t>(begin / codec::kFanOut);
    if (end - begin == codec::kFanOut && upper < place.row.upper.size()) {
      const codec::Bucket& bucket = place.row.upper[upper];
      const Node node = place.node(begin, 2 * place.tier + 1);
      const Verdict verdict = sink_.judge(bucket, node);
      if (verdict == Verdict::kPoints) return sink_.points(node, &bucket);
      if (verdict == Verdict::kDone) return {};
    }
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t index = turned(i, begin, end);
      const codec::Bucket& bucket = place.row.lower[static_cast<std::size_t>(index)];
      const Node node = place.node(index, 2 * place.tier);
      const Verdict verdict = sink_.judge(bucket, node);
      if (verdict == Verdict::kPoints) TRY(sink_.points(node, &bucket));
      if (verdict == Verdict::kDescend) TRY(tier(place.tier - 1, node, &bucket));
    }
    return {};
  }

  Cursor& cursor_;
  Sink& sink_;
  bool backward_;
};

}  // namespace detail

template <class Sink>
Result<> Cursor::descend(Sink& sink, const Descent& how) {
  const Node node = how.within.value_or(Node{.first = 0, .end = in_blocks_});
  const int most = how.max_level / 2;
  int top = 0;
  // All blocks: the lowest tier that has them in one row. A node: the one that has it in a bucket.
  const std::int64_t buckets = how.within ? 1 : static_cast<std::int64_t>(codec::kLowerBuckets);
  const auto more = [&] {
    return how.within ? bucket_points(2 * top + 2) <= node.points()
                      : bucket_points(2 * top) * buckets < node.end;
  };
  while (top < most && more()) ++top;
  return detail::PyramidWalk<Sink>(*this, sink, how.backward).tier(top, node, nullptr);
}

template <class Each>
Result<bool> Cursor::read_all(Node node, PointParts parts, GridAxis axis, Each each) {
  bool good = true;
  while (node.first < node.end) {
    const std::int64_t no = node.first / kBlockPoints;
    const std::int64_t end = std::min(node.end, (no + 1) * kBlockPoints);
    if (axis == GridAxis::kStep) {
      const store::Block* block = TRY(open(no));
      if (block != nullptr && !block->has_steps()) {
        node.first = end;
        continue;
      }
    }
    const PointSpan span = TRY(read(node.first, static_cast<std::size_t>(end - node.first), parts));
    if (span.size() > 0) each(span);
    node.first += static_cast<std::int64_t>(span.size());
    if (node.first == end) continue;
    good = false;
    node.first = std::min(end, (node.first / kVectorPoints + 1) * kVectorPoints);
  }
  return good;
}

}  // namespace corral::query
