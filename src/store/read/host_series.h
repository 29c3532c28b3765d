// Host series as the runs of a workload see them.
//
// A host has one timeline, whichever runs measured it. A run shows the part of it in which runs of
// its workload were on that host. Such a part has a series id of its own, made from the ids of the
// host's series and of the workload: everything outside the store treats it as a series.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "store/engine/database.h"
#include "store/model/records.h"
#include "store/read/view.h"

namespace corral::store::sql {

struct HostPart {
  SeriesId series;            // the host's series
  std::int64_t workload = 0;  // key
  auto operator<=>(const HostPart&) const = default;
};
// Ids stay below 2^53, where JSON numbers end in browsers. Nothing when the keys are too large for
// that: 2^29 series, 2^23 workloads.
std::optional<SeriesId> part_series_id(const HostPart& part);
// Nothing: the id is a series' own.
std::optional<HostPart> parse_host_part(SeriesId id);

// UTC ns, both inside.
struct TimeRange {
  std::int64_t from = 0, to = 0;
  [[nodiscard]] bool covers(std::int64_t t0, std::int64_t t1) const {
    return from <= t0 && t1 <= to;
  }
  [[nodiscard]] bool meets(std::int64_t t0, std::int64_t t1) const {
    return from <= t1 && t0 <= to;
  }
};
// Ascending; none meets another.
using Window = std::vector<TimeRange>;
// When runs of the workload were on the host; a second more at both ends, because a counter's rate
// needs the samples before and after.
Result<Window> read_window(Connection& db, std::int64_t workload, std::int64_t host);
// Keys of the hosts that the run was on; ascending.
Result<std::vector<std::int64_t>> hosts_of_run(Connection& db, std::int64_t run);
// Sessions that may have points of a series in [?2, ?3]: conditions on `sessions s LEFT JOIN runs
// r`.
inline constexpr std::string_view kFeedsWithin =
    " AND s.started <= ?3 AND (r.key IS NULL OR r.newest >= ?2)";

// Series that have points while runs of the workload were on the host (keys); `names`: only
// these, empty: all. By name and source; their owner_id is empty.
struct HostQuestion {
  std::int64_t workload = 0, host = 0;
  std::span<const std::string> names{};
};
Result<std::vector<Series>> read_host_series(Connection& db, Caches& caches,
                                             const HostQuestion& question);
// Those that are there, in the order asked for.
Result<std::vector<Series>> read_host_parts(Connection& db, Caches& caches,
                                            std::span<const HostPart> parts);

}  // namespace corral::store::sql
