// The blocks of a series, and the pyramid that is made from them. Used by check, rebuild and
// repair.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "codec/block/pyramid.h"
#include "codec/block/rate.h"
#include "core/ids.h"
#include "core/result.h"
#include "store/engine/database.h"
#include "store/model/point_view.h"

namespace corral::store::maintain {

// A block, decoded completely and checked.
struct StoredBlock {
  std::int64_t no = 0, session = 0;
  std::string problem;                     // empty: good
  std::vector<std::int64_t> times, steps;  // times may be there although the values are damaged
  std::vector<double> values;
};

struct BlockRange {
  std::optional<std::int64_t> session;  // only this one's
  std::int64_t first = 0, end = std::numeric_limits<std::int64_t>::max();
};

// Calls `visit` with every row of the series that lies in the range, a page of rows in memory at a
// time. kCorruption only where the database itself cannot be read.
Result<> each_block(sql::Connection& db, SeriesId series,
                    const std::function<Result<>(const StoredBlock&)>& visit,
                    const BlockRange& range = {});

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

// The pyramid of a series out of its blocks, as sealing makes it (store/seal/plan.cpp) but for all
// blocks at once. check compares the result with the stored pyramid; rebuild writes it. Memory: one
// open row for each tier and channel. One thread.
class PyramidMaker {
 public:
  using Store = std::function<Result<>(const MadeRow&)>;
  // `counter`: has a pyramid over its rate, too. `store` gets every row once.
  // `first`: the block that comes first; rows that reach below it are not whole then.
  PyramidMaker(bool counter, Store store, std::int64_t first = 0)
      : counter_(counter), store_(std::move(store)), blocks_(first) {}

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
  Result<> store_row(const MadeRow& row);

  const bool counter_;
  const Store store_;
  std::int64_t blocks_ = 0;  // the number of the next one
  std::int64_t rows_ = 0;
  std::map<std::pair<Channel, int>, MadeRow> open_;
  codec::CounterRates rates_;
  std::optional<std::int64_t> session_;  // session of the previous block, if that was good
  bool ended_finite_ = false;
};

}  // namespace corral::store::maintain
