// PointStream: the points of one series in order of time, whatever the order in which they came.
//
// Merges blocks and recent chunks; points at equal times come in order of arrival. Gives whole
// vectors of 1,024 points unless blocks overlap, which is rare. Memory: one vector for each open
// block, that is, each block that overlaps the present time. One thread.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "query/series/cursor.h"

namespace corral::query {

class PointStream {
 public:
  // Points in [from, to), ns UTC. `cursor` must outlive the stream and not be read meanwhile.
  static Result<PointStream> open(Cursor& cursor, std::int64_t from, std::int64_t to,
                                  PointParts parts);
  // The next points, of one session; empty: no more. Valid until the next call.
  Result<PointSpan> next();

 private:
  // A block or a chunk.
  struct Source {
    std::int64_t t0 = 0;
    std::int64_t order = 0, end = 0;
    std::size_t chunk = 0;  // the number of a chunk
  };
  struct Head {
    std::int64_t order = 0, end = 0;  // range of the points that are not in `span` yet
    PointSpan span;
    std::vector<std::int64_t> times, steps;
    std::vector<double> values;
    std::size_t chunk = 0;
    bool in_chunk = false;
  };

  PointStream(Cursor& cursor, std::int64_t from, std::int64_t to, PointParts parts)
      : cursor_(&cursor), from_(from), to_(to), parts_(parts) {}
  Result<> find_sources();
  Result<> add_block(std::int64_t block);
  Result<> open_due();
  Result<bool> refill(Head& head);
  void keep(Head& head, const PointSpan& read);
  [[nodiscard]] std::size_t earliest() const;
  [[nodiscard]] std::size_t due(std::size_t chosen) const;

  Cursor* cursor_;
  std::int64_t from_, to_;
  PointParts parts_;
  std::vector<Source> sources_;  // by t0, then order
  std::size_t opened_ = 0;
  std::vector<std::unique_ptr<Head>> open_;
  Head* given_ = nullptr;  // to be moved on at the next call
  std::size_t given_points_ = 0;
};

}  // namespace corral::query
