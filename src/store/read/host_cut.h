// HostCut: a host's series cut to a window, from a view of the whole series.
//
// A group of eight blocks, which share one bucket of level 4, stays as blocks if it lies inside the
// window; these blocks keep their pyramid up to level 5 and get new numbers. Points of other blocks
// inside the window become chunks before the recent ones. One thread at a time; the view outlives
// it.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "store/model/point_view.h"
#include "store/read/host_series.h"

namespace corral::store::sql {

class HostCut {
 public:
  static Result<HostCut> make(PointView& whole, SeriesId series, Window window);

  [[nodiscard]] std::int64_t block_count() const;
  [[nodiscard]] std::span<const Chunk> recent() const { return recent_; }
  [[nodiscard]] std::span<const Damage> damaged() const { return damaged_; }
  // As PointView's, of the series that was cut.
  Result<std::shared_ptr<const Block>> block(PointView& whole, std::int64_t no) const;
  Result<std::shared_ptr<const codec::PyramidRow>> pyramid(PointView& whole, Channel channel,
                                                           int tier, std::int64_t no) const;

 private:
  HostCut(SeriesId series, Window window) : series_(series), window_(std::move(window)) {}
  Result<> add_blocks(PointView& whole);
  Result<> add_edge(PointView& whole, std::int64_t eight, std::int64_t blocks);
  Result<> add_block(PointView& whole, std::int64_t no, Damage times);
  void add_chunk(const Chunk& chunk);
  void add_damage(const Damage& damage);
  void split_rates();
  Result<std::vector<codec::Bucket>> buckets_at(PointView& whole, Channel channel, int tier,
                                                std::int64_t eight) const;
  Result<std::vector<codec::Bucket>> find_buckets(PointView& whole, Channel channel,
                                                  std::int64_t eight) const;

  SeriesId series_;
  Window window_;
  std::vector<std::int64_t> eights_;  // numbers of the kept groups of eight blocks, ascending
  Damage last_eight_;                 // times of the last group
  std::vector<Chunk> recent_;
  std::vector<std::size_t> range_of_;  // for each chunk, its range of the window
  std::vector<Damage> damaged_;
};

}  // namespace corral::store::sql
