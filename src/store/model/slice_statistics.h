// Statistics of the series of a slice, over everything of it that is above the batch rows
// (docs/format-block.md, "Slice statistics"). Pure functions, any thread.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>

#include "codec/block/row_group.h"
#include "core/ids.h"
#include "core/result.h"
#include "store/model/statistics.h"

namespace corral::store {

using SliceStatistics = std::map<SeriesId, SeriesDelta>;

// Adds what the columns say; times ascend in each group.
void add_groups(SliceStatistics& statistics, std::span<const codec::SamplingGroup> groups);

std::string encode_statistics(const SliceStatistics& statistics);
Result<SliceStatistics> decode_statistics(std::span<const std::uint8_t> bytes);

}  // namespace corral::store
