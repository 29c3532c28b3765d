// Current statistics of series: those of the slices and of the batch rows that are not sealed yet.
#pragma once

#include <map>
#include <set>
#include <span>

#include "store/engine/database.h"
#include "store/model/statistics.h"
#include "store/read/view.h"

namespace corral::store::sql {

// A session that writes points, and the requested series of it.
struct Feed {
  ClockAnchor anchor;
  SeriesMap series;
  std::set<SeriesId> ids;  // Those of `series`.
  std::set<std::int64_t> slices;
};
using Feeds = std::map<std::int64_t, Feed>;  // by the session's key
// From columns of a row: m.session, m.local, m.slice and s.utc_minus_boot, the first of them
// `column`.
void add_feed(Feeds& feeds, SeriesId series, const Statement& row, int column);
Result<std::map<SeriesId, SeriesDelta>> read_statistics(Connection& db, Caches& caches,
                                                        const Feeds& feeds);

// Only series that have points. Damaged batch rows and slices are left out.
Result<std::map<SeriesId, SeriesDelta>> read_statistics(Connection& db, Caches& caches,
                                                        std::span<const SeriesId> series);

}  // namespace corral::store::sql
