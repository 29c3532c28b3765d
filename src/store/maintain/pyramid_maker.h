// PyramidMaker: the pyramid of a series out of its blocks, as sealing makes it
// (store/seal/blocks.h) but for all blocks at once. check compares the result with the stored
// pyramid; rebuild writes it.
//
// Memory: one open row for each tier and channel. One thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <utility>

#include "codec/block/pyramid.h"
#include "codec/block/rate.h"
#include "store/maintain/stored_blocks.h"
#include "store/model/point_view.h"

namespace corral::store::maintain {

// If more blocks in a row are missing than this, the number of blocks is itself damaged.
inline constexpr std::int64_t kMostMissing = 1 << 20;

struct MadeRow {
  Channel channel = Channel::kValue;
  int tier = 0;
  std::int64_t no = 0;
  codec::PyramidRow row;
  // Sealing may have had other values: a damaged block lies below, or (rates) it began anew after
  // values that were not finite.
  bool vague = false;
};

class PyramidMaker {
 public:
  using Take = std::function<Result<>(const MadeRow&)>;
  // `counter`: has a pyramid over its rate, too.
  // `first`: the block that comes first; rows that reach below it are not whole then.
  PyramidMaker(bool counter, Take take, std::int64_t first = 0)
      : counter_(counter), take_(std::move(take)), blocks_(first) {}

  // The next block; one that is not good, or missing, is a gap (add_gap).
  Result<> add(const StoredBlock& block);
  // 8,192 points that are not a number, between these times.
  Result<> add_gap(std::int64_t t0, std::int64_t t1);
  // The rows that are not full.
  Result<> finish();

  [[nodiscard]] std::int64_t blocks() const { return blocks_; }
  [[nodiscard]] std::int64_t rows() const { return rows_; }

 private:
  struct Children {
    std::span<const codec::Bucket> buckets;
    bool vague = false;
  };
  Result<> add_rates(const StoredBlock& block);
  Result<> extend(Channel channel, int tier, std::int64_t child, const Children& children);
  Result<> give(const MadeRow& row);

  const bool counter_;
  const Take take_;
  std::int64_t blocks_ = 0;  // the number of the next one
  std::int64_t rows_ = 0;
  std::map<std::pair<Channel, int>, MadeRow> open_;
  codec::CounterRates rates_;
  std::optional<std::int64_t> session_;  // session of the previous block, if that was good
  bool ended_finite_ = false;
};

}  // namespace corral::store::maintain
