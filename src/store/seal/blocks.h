// BlockMaker: cuts full blocks off sampling groups and carries their pyramids on.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "codec/block/rate.h"
#include "store/seal/plan.h"

namespace corral::store {

class BlockMaker {
 public:
  // All three must outlive this object; `plan` takes what is made.
  BlockMaker(SealPlan& plan, std::map<SeriesId, SeriesToSeal>& series, const ReadPyramidRow& read)
      : plan_(plan), series_(series), read_(read) {}

  // The rest of the group that fills no block; empty when nothing is left.
  Result<codec::SamplingGroup> make(codec::SamplingGroup group);
  // Puts the pyramids' last rows into the plan.
  void finish();

 private:
  struct Key {
    SeriesId series;
    Channel channel = Channel::kValue;
    auto operator<=>(const Key&) const = default;
  };
  struct Tier {
    std::int64_t no = 0;
    codec::PyramidRow row;
  };
  // The rows of a block.
  struct Points {
    std::span<const std::int64_t> times, steps;
    std::span<const double> values;
  };
  Result<> add_block(SeriesId series, std::size_t times, const Points& points);
  Result<> add_rates(SeriesId series, std::int64_t block, const Points& points);
  Result<> add_buckets(const Key& key, std::int64_t block, const Points& points);
  Result<codec::PyramidRow> open_row(const Key& key, std::size_t tier, std::int64_t child);
  Result<> extend(const Key& key, std::size_t tier, std::int64_t child,
                  std::span<const codec::Bucket> buckets);
  Result<std::optional<codec::CounterSample>> last_of(SeriesId series, std::int64_t block);
  void keep(const Key& key, std::size_t tier, const Tier& row);

  SealPlan& plan_;
  std::map<SeriesId, SeriesToSeal>& series_;
  const ReadPyramidRow& read_;
  std::map<Key, std::map<std::size_t, Tier>> open_;  // by tier: the last row, not full
  std::map<SeriesId, codec::CounterSample> last_;    // last points of the blocks made here
};

}  // namespace corral::store
