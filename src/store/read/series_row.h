// Turns a row of `series`, and its statistics, into a Series.
#pragma once

#include <string>
#include <string_view>

#include "store/engine/database.h"
#include "store/model/records.h"
#include "store/model/statistics.h"

namespace corral::store::sql {

// The columns that series_of_row() reads, in its order.
inline constexpr std::string_view kSeriesColumns =
    "SELECT id, owner_kind, kind, aggregation, name, source, unit";
Series series_of_row(const Statement& row, std::string owner_id);
void set_statistics(Series& series, const SeriesDelta& statistics);

}  // namespace corral::store::sql
