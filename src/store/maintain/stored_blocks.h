// The blocks of a series in their order, each decoded completely and checked. Used by check and
// rebuild.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "core/ids.h"
#include "core/result.h"
#include "store/engine/database.h"

namespace corral::store::maintain {

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

// Calls `take` with every row of the series that lies in the range, a page of rows in memory at a
// time. kCorruption only where the database itself cannot be read.
Result<> each_block(sql::Connection& db, SeriesId series,
                    const std::function<Result<>(const StoredBlock&)>& take,
                    const BlockRange& range = {});

}  // namespace corral::store::maintain
