// PointView: the points of some series at one moment, over all levels of the store, for query/.
//
// A series is full blocks of 8,192 points, numbered from 0, with a pyramid over them; then the
// rest, which is in no block yet. Blocks follow each other in order of arrival: their points ascend
// in time inside a block, while blocks of a series may overlap in time (late points, a clock set
// back, several sessions at once). Everything a view gives belongs to one snapshot. One thread at a
// time.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "codec/block/column.h"
#include "codec/block/pyramid.h"
#include "core/ids.h"
#include "core/result.h"
#include "core/time.h"

namespace corral::store {

// Points of one session that are in no block, ascending in time (equal times: in order of arrival).
struct Chunk {
  std::int64_t session = 0;                                // key of the session
  std::shared_ptr<const std::vector<std::int64_t>> times;  // UTC, ns; shared by series
  std::shared_ptr<const std::vector<std::int64_t>> steps;  // null: the points have none
  std::vector<double> values;
};

// 8,192 points; vectors are decoded when they are asked for.
class Block {
 public:
  virtual ~Block() = default;
  [[nodiscard]] virtual std::int64_t session() const = 0;
  [[nodiscard]] virtual bool has_steps() const = 0;
  virtual Result<> times(std::size_t first, std::span<std::int64_t> out) const = 0;
  virtual Result<> steps(std::size_t first, std::span<std::int64_t> out) const = 0;
  virtual Result<> values(std::size_t first, std::span<double> out) const = 0;
};

// The numbers under a pyramid: the values, or (counters only) the rate between consecutive points
// of one session, placed at the later one; a point without a rate (the first of a session, the
// first after the counter went down, or not finite) is NaN there.
enum class Channel : std::uint8_t { kValue = 0, kRate = 1 };

// A range of time in which points may be missing because their rows are damaged.
struct Damage {
  std::int64_t t0 = 0, t1 = 0;  // UTC, ns; both inside
};

// The points that a view holds: all of its series, or those in blocks, which cost little to open.
enum class Levels : std::uint8_t { kAll, kBlocks };

class PointView {
 public:
  virtual ~PointView() = default;
  // 0 for a series that was not asked for.
  [[nodiscard]] virtual std::int64_t block_count(SeriesId series) const = 0;
  // In order of arrival.
  [[nodiscard]] virtual std::span<const Chunk> recent(SeriesId series) const = 0;
  // Batch rows and row groups of the series' sessions that could not be read.
  [[nodiscard]] virtual std::span<const Damage> damaged(SeriesId series) const = 0;
  // True if all sessions of the series measure the same thing, as those of a host do: where they
  // overlap in time, each has the whole of it and not a part.
  [[nodiscard]] virtual bool same_thing(SeriesId) const { return false; }
  // kCorruption: damaged; the rest of the view is good.
  virtual Result<std::shared_ptr<const Block>> block(SeriesId series, std::int64_t no) = 0;
  // Row `no` of a tier; kNotFound when the tier has no such row (the row below is not full yet, or
  // the series has no such channel), kCorruption when it is damaged.
  virtual Result<std::shared_ptr<const codec::PyramidRow>> pyramid(SeriesId series, Channel channel,
                                                                   int tier, std::int64_t no) = 0;
};

}  // namespace corral::store
