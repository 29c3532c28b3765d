// Row groups: some time of up to 64 series of one session, series that were sampled together
// sharing their time and step columns (docs/format-block.md).
//
// A row group holds sampling groups; a sampling group holds points that all of its series have, so
// there is no bitmap. A series may stand in several sampling groups of one row group (with steps
// and without; more than 8,192 points). Points of a sampling group ascend in time. Pure functions,
// any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "codec/block/column.h"
#include "core/ids.h"
#include "core/result.h"

namespace corral::codec {

struct SamplingGroup {
  std::vector<std::int64_t> times;  // UTC, ns, ascending; 1 to kColumnEntries
  std::vector<std::int64_t> steps;  // empty: the points have none
  struct Column {
    SeriesId series;
    std::vector<double> values;  // as many as times
    bool operator==(const Column&) const = default;
  };
  std::vector<Column> columns;  // ascending by series; at least one
  bool operator==(const SamplingGroup&) const = default;
};

inline constexpr std::size_t kRowGroupColumns = 4096;  // most in one row group, of all groups

// At most kRowGroupColumns columns and 4 GiB.
std::string encode_row_group(std::span<const SamplingGroup> groups, Effort effort);
Result<std::vector<SamplingGroup>> decode_row_group(std::span<const std::uint8_t> bytes);
// The data of some series in the row group, without decoding the rest. Columns that are damaged are
// left out and counted in `damaged`, when the directory can be trusted.
struct RowGroupPart {
  std::vector<SamplingGroup> groups;
  std::size_t damaged = 0;
};
Result<RowGroupPart> read_row_group(std::span<const std::uint8_t> bytes,
                                    std::span<const SeriesId> series);

}  // namespace corral::codec
