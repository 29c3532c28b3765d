#include <algorithm>
#include <bit>
#include <iterator>
#include <map>

#include "metric/foreign.h"
#include "store/engine/keys.h"
#include "store/read/host_series.h"
#include "store/read/reads.h"
#include "store/read/series_statistics.h"

namespace corral::store::sql {
namespace {

constexpr std::string_view kOwnerId =
    ", CASE owner_kind WHEN 0 THEN (SELECT r.id FROM runs r WHERE r.key = owner) WHEN 1 THEN "
    "(SELECT w.id FROM workloads w WHERE w.key = owner) END";

Result<> fill(Connection& db, Caches& caches, std::vector<Series>& series) {
  std::vector<SeriesId> ids;
  ids.reserve(series.size());
  for (const Series& one : series) ids.push_back(one.id);
  const auto statistics = TRY(read_statistics(db, caches, ids));
  for (Series& one : series) {
    const auto known = statistics.find(one.id);
    if (known != statistics.end()) set_statistics(one, known->second);
  }
  return {};
}

// Owners times names of one statement. With many more PostgreSQL expects to find so much that it
// reads all of session_series instead.
constexpr std::size_t kSeriesAtOnce = 128;

Result<> read_some_named(Connection& db, Caches& caches, const NamedSeries& wanted,
                         std::vector<OwnedSeries>& found) {
  const std::size_t names = std::bit_ceil(wanted.names.size());
  const std::string sql =
      "SELECT x.id, x.owner_kind, x.kind, x.aggregation, x.name, x.source, x.unit, x.owner, "
      "m.session, m.local, m.slice, s.utc_minus_boot FROM series x JOIN session_series m ON "
      "m.series = x.id JOIN sessions s ON s.key = m.session WHERE x.owner_kind = ?1 AND x.name "
      "IN " +
      parameter_list(2, names) + " AND x.owner IN " +
      parameter_list(2 + names, kSeriesAtOnce / names);
  Feeds feeds;
  std::map<SeriesId, OwnedSeries> series;
  {
    Statement row = TRY(db.query(sql));
    row.set(1, wanted.owner);
    bind_list(row, 2, names, wanted.names);
    bind_list(row, 2 + names, kSeriesAtOnce / names, wanted.keys);
    while (TRY(row.step())) {
      const SeriesId id{row.integer(0)};
      if (!series.contains(id))
        series.emplace(id,
                       OwnedSeries{.owner = row.integer(7), .series = series_from_row(row, "")});
      add_feed(feeds, id, row, 8);
    }
  }
  for (const auto& [id, statistics] : TRY(read_statistics(db, caches, feeds))) {
    OwnedSeries& one = series.at(id);
    set_statistics(one.series, statistics);
    found.push_back(std::move(one));
  }
  return {};
}

}  // namespace

Series series_from_row(const Statement& row, std::string owner_id) {
  Series series;
  series.owner_id = std::move(owner_id);
  series.id = SeriesId{row.integer(0)};
  series.owner = static_cast<metric::Owner>(row.integer(1));
  series.kind = static_cast<metric::Kind>(row.integer(2));
  series.aggregation = static_cast<metric::Aggregation>(row.integer(3));
  series.name = row.text(4);
  series.source = row.text(5);
  series.unit = row.text(6);
  if (series.unit.empty()) {
    // For series of a tool that names units nowhere but in its documentation.
    if (const auto foreign = metric::find_foreign(series.name)) series.unit = foreign->unit;
  }
  return series;
}

void set_statistics(Series& series, const SeriesDelta& statistics) {
  series.points = statistics.points;
  series.nan = statistics.nan;
  series.first = utc_time(statistics.first_time);
  series.last_time = utc_time(statistics.last_time);
  series.first_step = statistics.first_step;
  series.last_step = statistics.value_step;
  series.last = statistics.last;
  series.ends_nan = statistics.points > 0 && statistics.value_time != statistics.last_time;
  series.min = statistics.min;
  series.max = statistics.max;
  series.sum = statistics.sum;
}

Result<std::vector<OwnedSeries>> read_series_named(Connection& db, Caches& caches,
                                                   const NamedSeries& wanted) {
  CORRAL_ASSERT(wanted.names.size() <= kMostNames);
  std::vector<OwnedSeries> found;
  if (wanted.names.empty()) return found;
  for (NamedSeries left = wanted; !left.keys.empty();) {
    NamedSeries some = left;
    const std::size_t owners = kSeriesAtOnce / std::bit_ceil(wanted.names.size());
    some.keys = left.keys.first(std::min(owners, left.keys.size()));
    TRY(read_some_named(db, caches, some, found));
    left.keys = left.keys.subspan(some.keys.size());
  }
  return found;
}

Result<std::vector<Series>> read_run_series(Connection& db, Caches& caches, RunId run) {
  std::vector<Series> series;
  std::string workload;
  HostQuestion host;
  std::int64_t key = 0;
  {
    Statement row = TRY(db.query(
        "SELECT w.id, w.key, r.key FROM workloads w JOIN runs r ON r.workload = w.key WHERE r.id = "
        "?1",
        run));
    if (TRY(row.step())) {
      workload = row.id128<WorkloadId>(0).hex();
      host.workload = row.integer(1);
      key = row.integer(2);
    }
  }
  for (const auto& [owner, id] :
       {std::pair("owner_kind = 0 AND owner = (SELECT key FROM runs WHERE id = ?1)", run.hex()),
        std::pair("owner_kind = 1 AND owner = (SELECT workload FROM runs WHERE id = ?1)",
                  workload)}) {
    Statement row = TRY(db.query(std::string(kSeriesColumns) + " FROM series WHERE " +
                                     std::string(owner) + " ORDER BY name, source",
                                 run));
    while (TRY(row.step())) series.push_back(series_from_row(row, id));
  }
  TRY(fill(db, caches, series));
  for (const std::int64_t one : TRY(hosts_of_run(db, key))) {
    host.host = one;
    auto of_host = TRY(read_host_series(db, caches, host));
    std::ranges::move(of_host, std::back_inserter(series));
  }
  return series;
}

Result<std::vector<Series>> read_series(Connection& db, Caches& caches,
                                        std::span<const SeriesId> ids) {
  std::vector<Series> series;
  std::vector<HostPart> parts;
  for (const SeriesId id : ids) {
    if (const auto part = parse_host_part(id)) {
      parts.push_back(*part);
      continue;
    }
    Statement row = TRY(db.query(
        std::string(kSeriesColumns) + std::string(kOwnerId) + " FROM series WHERE id = ?1", id));
    // Without its owner it is being removed.
    if (TRY(row.step()) && !row.is_null(7))
      series.push_back(series_from_row(row, row.id128<RunId>(7).hex()));
  }
  TRY(fill(db, caches, series));
  if (parts.empty()) return series;
  for (Series& one : TRY(read_host_parts(db, caches, parts))) series.push_back(std::move(one));
  return series;
}

Result<std::vector<std::pair<RunId, Series>>> read_series_ending(Connection& db, Caches& caches,
                                                                 std::span<const RunId> runs,
                                                                 std::string_view suffix) {
  std::vector<Series> found;
  std::vector<RunId> owners;
  for (const RunId run : runs) {
    Statement row = TRY(db.query(
        std::string(kSeriesColumns) +
            " FROM series WHERE owner_kind = 0 AND owner = (SELECT key FROM runs WHERE id = ?1) "
            "AND length(name) >= length(?2) "
            "AND substr(name, length(name) - length(?2) + 1) = ?2 ORDER BY name, source",
        run, suffix));
    while (TRY(row.step())) {
      found.push_back(series_from_row(row, run.hex()));
      owners.push_back(run);
    }
  }
  TRY(fill(db, caches, found));
  std::vector<std::pair<RunId, Series>> series;
  for (std::size_t i = 0; i < found.size(); ++i)
    series.emplace_back(owners[i], std::move(found[i]));
  return series;
}

}  // namespace corral::store::sql
