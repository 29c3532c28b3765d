// Sealing: how points rise from batch rows to row groups, from row groups to larger ones, and to
// blocks with their pyramid.
//
// These functions read nothing and write nothing: they take what a sealer has read in one snapshot
// and return a plan, which is executed in one transaction that deletes exactly the rows that were
// read. A session's series are dealt into slices of at most 64, series that are sampled together
// side by side; a slice is the unit of row groups and of everything above them. Pure, any thread.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "codec/block/pyramid.h"
#include "codec/block/row_group.h"
#include "store/model/point_view.h"
#include "store/model/statistics.h"

namespace corral::store {

inline constexpr std::size_t kSliceSeries = 64;
inline constexpr std::int64_t kBlockBuckets =
    static_cast<std::int64_t>(codec::kColumnEntries / codec::kBucketPoints);
// Blocks under a full pyramid row of tier 0.
inline constexpr std::int64_t kRowBlocks =
    static_cast<std::int64_t>(codec::kLowerBuckets) / kBlockBuckets;
// Rows of a tier under one of the next.
inline constexpr std::int64_t kTierRows = 16;

// Children of a full pyramid row of a tier: blocks, or rows of the tier below.
constexpr std::int64_t children_in_row(int tier) { return tier == 0 ? kRowBlocks : kTierRows; }
// The buckets of a block's points; `steps` may be empty.
std::array<codec::Bucket, kBlockBuckets> buckets_of_block(std::span<const std::int64_t> times,
                                                          std::span<const std::int64_t> steps,
                                                          std::span<const double> values);
// The buckets that a full row adds to a row of the next tier.
std::vector<codec::Bucket> buckets_above(const codec::PyramidRow& row);
// Buckets in the lower level of a pyramid's row, when the series has `blocks` blocks.
std::int64_t buckets_in_row(std::int64_t blocks, int tier, std::int64_t no);

// A settled row group holds all remaining points of a slice of a session that writes no more. A
// set-aside one is damaged: it is read as a gap and never merged.
enum class RowGroupState : std::int64_t { kOpen = 0, kSettled = 1, kSetAside = 2 };

struct NewRowGroup {
  std::int64_t slice = 0;
  // The id of the newest row that it replaces, so that ids keep the order of arrival.
  std::optional<std::int64_t> id;
  RowGroupState state = RowGroupState::kOpen;
  std::int64_t t0 = 0, t1 = 0;  // min and max time, UTC
  std::int64_t points = 0;      // points of the longest series
  std::string data;
};
struct NewBlock {
  SeriesId series;
  std::int64_t no = 0;
  std::size_t times = 0;  // place in SealPlan::times
  std::string data;       // one column of values
};
struct NewPyramidRow {
  SeriesId series;
  Channel channel = Channel::kValue;
  int tier = 0;
  std::int64_t no = 0;
  std::string data;
};
struct SealPlan {
  std::int64_t session = 0;
  std::vector<std::int64_t> batches, row_groups;                  // rows that go
  std::vector<std::int64_t> damaged_batches, damaged_row_groups;  // rows that are set aside
  std::vector<std::pair<SeriesId, std::int64_t>> dealt;           // series -> slice, new ones
  std::map<std::int64_t, SliceStatistics> statistics;             // new statistics by slice
  std::vector<NewRowGroup> new_groups;
  std::vector<std::string> times;  // a column of times, and one of steps if there are any
  std::vector<NewBlock> blocks;
  std::vector<NewPyramidRow> pyramid;
  std::map<SeriesId, std::pair<std::int64_t, std::int64_t>> block_counts;  // before, after
};

// ---- batch rows to row groups
struct BatchesToSeal {
  std::int64_t session = 0;
  std::vector<std::int64_t> rows;
  std::vector<codec::SamplingGroup> groups;  // made of the rows by Gather
  std::map<SeriesId, std::int64_t> slices;   // dealt so far
  std::set<SeriesId> of_host;                // series of a host, in slices of their own
  std::map<std::int64_t, SliceStatistics> statistics;
  RowGroupState state = RowGroupState::kOpen;  // or kSettled
};
SealPlan seal_batches(BatchesToSeal work);

// ---- row groups to larger ones and to blocks
struct SeriesToSeal {
  std::int64_t blocks = 0;        // blocks that exist
  std::int64_t last_session = 0;  // session of the last block
  bool counter = false;           // has a pyramid over its rate, too
};
// A pyramid row as it is stored.
using ReadPyramidRow =
    std::function<Result<codec::PyramidRow>(SeriesId, Channel, int tier, std::int64_t no)>;
struct RowGroupsToSeal {
  std::int64_t session = 0;
  std::int64_t slice = 0;
  std::vector<std::int64_t> rows;              // neighbours, ascending
  std::vector<codec::SamplingGroup> groups;    // Gather's
  std::map<SeriesId, SeriesToSeal> series;     // all series in the groups
  RowGroupState state = RowGroupState::kOpen;  // state of the row group that remains
};
// Points that fill blocks move to blocks; the rest becomes one row group.
Result<SealPlan> seal_row_groups(RowGroupsToSeal work, const ReadPyramidRow& read);

}  // namespace corral::store
