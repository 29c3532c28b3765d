#include <algorithm>
#include <limits>
#include <map>

#include "store/sqlite/reads.h"

namespace corral::store::sqlite {
namespace {

constexpr std::string_view kSeriesColumns =
    "SELECT id, owner_kind, kind, aggregation, name, source, unit, points, nan, first_time, "
    "last_time, first_step, value_step, "
    "last, min, max, sum FROM series ";

Series series_of_row(const Statement& row) {
  Series series;
  series.id = SeriesId{row.integer(0)};
  series.owner = static_cast<metric::Owner>(row.integer(1));
  series.kind = static_cast<metric::Kind>(row.integer(2));
  series.aggregation = static_cast<metric::Aggregation>(row.integer(3));
  series.name = row.text(4);
  series.source = row.text(5);
  series.unit = row.text(6);
  series.points = row.integer(7);
  series.nan = row.integer(8);
  series.first = row.utc(9);
  series.last_time = row.utc(10);
  series.first_step = row.maybe_integer(11);
  series.last_step = row.maybe_integer(12);
  series.last = row.maybe_real(13);
  series.min = row.maybe_real(14);
  series.max = row.maybe_real(15);
  // Finite values may add up to infinity, and two infinities to NaN, which SQLite keeps as NULL.
  series.sum = row.maybe_real(16).value_or(std::numeric_limits<double>::quiet_NaN());
  return series;
}

struct SessionOfQuery {
  ClockAnchor anchor;
  std::vector<std::pair<std::uint32_t, SeriesId>> series;  // by id within the session
};
using Sessions = std::map<std::int64_t, SessionOfQuery>;

Result<Sessions> sessions_of(Connection& db, const std::vector<SeriesId>& ids) {
  Sessions sessions;
  for (const SeriesId id : ids) {
    Statement row = TRY(
        db.query("SELECT m.session, m.local, s.utc_minus_boot, s.clock_error FROM session_series m "
                 "JOIN sessions s ON s.key = m.session WHERE m.series = ?1",
                 id));
    while (TRY(row.step())) {
      SessionOfQuery& session = sessions[row.integer(0)];
      session.anchor = {.utc_minus_boot = Nanos(row.integer(2)), .error = Nanos(row.integer(3))};
      session.series.emplace_back(static_cast<std::uint32_t>(row.integer(1)), id);
    }
  }
  for (auto& [key, session] : sessions) {
    std::ranges::sort(session.series);
    session.series.erase(std::unique(session.series.begin(), session.series.end()),
                         session.series.end());
  }
  return sessions;
}

// Row ids alone, from the index: 8 bytes a batch, so that the walk can go in order of arrival over
// all sessions.
Result<std::vector<std::int64_t>> rows_of(Connection& db, const Sessions& sessions,
                                          const BatchQuery& query) {
  std::vector<std::int64_t> rows;
  for (const auto& [key, session] : sessions) {
    Statement row =
        TRY(db.query("SELECT id FROM batches WHERE session = ?1 AND t1 >= ?2 AND t0 < ?3", key,
                     query.from, query.to));
    while (TRY(row.step())) rows.push_back(row.integer(0));
  }
  std::ranges::sort(rows);
  return rows;
}

// False: `take` wants no more.
Result<bool> give(const Statement& row, const SessionOfQuery& session,
                  const std::function<bool(const Batch&)>& take) {
  Batch batch{
      .row = row.integer(0), .anchor = session.anchor, .frame = {}, .series = session.series};
  codec::Frame whole = TRY(codec::decode_frame(row.blob(2)));
  const std::vector<codec::Frame> parts = TRY(codec::sections(std::move(whole)));
  for (const codec::Frame& part : parts) {
    if (part.header.kind != codec::FrameKind::kSamples) continue;
    batch.frame = part;
    if (!take(batch)) return false;
  }
  return true;
}

}  // namespace

Result<std::vector<Series>> read_series_of(Connection& db, RunId run) {
  std::vector<Series> series;
  for (const std::string_view owner :
       {"owner_kind = 0 AND owner = (SELECT key FROM runs WHERE id = ?1)",
        "owner_kind = 1 AND owner = (SELECT workload FROM runs WHERE id = ?1)"}) {
    Statement row = TRY(db.query(
        std::string(kSeriesColumns) + "WHERE " + std::string(owner) + " ORDER BY name, source",
        run));
    while (TRY(row.step())) series.push_back(series_of_row(row));
  }
  return series;
}

Result<std::vector<Series>> read_series(Connection& db, std::span<const SeriesId> ids) {
  std::vector<Series> series;
  for (const SeriesId id : ids) {
    Statement row = TRY(db.query(std::string(kSeriesColumns) + "WHERE id = ?1", id));
    if (TRY(row.step())) series.push_back(series_of_row(row));
  }
  return series;
}

Result<std::vector<std::pair<RunId, Series>>> read_series_ending(Connection& db,
                                                                 std::span<const RunId> runs,
                                                                 std::string_view suffix) {
  std::vector<std::pair<RunId, Series>> series;
  const auto length = static_cast<std::int64_t>(suffix.size());
  for (const RunId run : runs) {
    Statement row = TRY(
        db.query(std::string(kSeriesColumns) +
                     "WHERE owner_kind = 0 AND owner = (SELECT key FROM runs WHERE id = ?1) "
                     "AND substr(CAST(name AS BLOB), -?3) = CAST(?2 AS BLOB) ORDER BY name, source",
                 run, suffix, length));
    while (TRY(row.step())) series.emplace_back(run, series_of_row(row));
  }
  return series;
}

Result<> read_batches(Connection& db, const BatchQuery& query,
                      const std::function<bool(const Batch&)>& take) {
  const Sessions sessions = TRY(sessions_of(db, query.series));
  const std::vector<std::int64_t> rows = TRY(rows_of(db, sessions, query));
  for (const std::int64_t id : rows) {
    Statement row = TRY(db.query("SELECT id, session, frame FROM batches WHERE id = ?1", id));
    if (!TRY(row.step())) continue;
    const auto session = sessions.find(row.integer(1));
    if (session == sessions.end()) continue;
    const auto more = give(row, session->second, take);
    if (!more) return tl::unexpected(more.error().with_context("batch row " + std::to_string(id)));
    if (!*more) break;
  }
  return {};
}

}  // namespace corral::store::sqlite
