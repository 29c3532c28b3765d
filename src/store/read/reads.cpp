#include "store/read/reads.h"

#include <charconv>

#include "core/text.h"
#include "store/model/content.h"

namespace corral::store::sql {

namespace {

std::vector<std::uint64_t> parse_links(std::string_view text) {
  std::vector<std::uint64_t> links;
  if (text.empty()) return links;
  for (const std::string_view part : split(text, ',')) {
    std::uint64_t link = 0;
    std::from_chars(part.data(), part.data() + part.size(), link);
    links.push_back(link);
  }
  return links;
}

}  // namespace

Result<std::int64_t> run_key(Connection& db, RunId run) {
  return TRY(db.number("SELECT key FROM runs WHERE id = ?1", run)).value_or(0);
}

// ---- events
Result<std::vector<StoredEvent>> read_events(Connection& db, RunId run) {
  return read_all(db.query("SELECT time, name, origin, attributes FROM events WHERE run = (SELECT "
                           "key FROM runs WHERE id = ?1) ORDER BY time, id",
                           run),
                  [](const Statement& row) {
                    return StoredEvent{.time = row.utc(0),
                                       .name = row.text(1),
                                       .origin = row.text(2),
                                       .attributes = parse_attributes(row.text(3))};
                  });
}

// ---- output
Result<std::vector<LogChunk>> read_chunks(Result<Statement> query) {
  return read_all(std::move(query), [](const Statement& row) {
    const Blob bytes = row.blob(4);
    return LogChunk{.row = row.integer(0),
                    .stream = stream_of(row.integer(1)),
                    .offset = row.integer(2),
                    .time = row.utc(3),
                    .bytes = {bytes.begin(), bytes.end()}};
  });
}

Result<std::vector<LogChunk>> read_logs(Connection& db, const LogQuery& query) {
  return read_chunks(db.query(std::string(kLogColumns) +
                                  "(SELECT key FROM runs WHERE id = ?1) AND id > ?2 AND "
                                  "(?3 IS NULL OR stream = ?3) ORDER BY id LIMIT ?4",
                              query.run, query.after_row, query.stream, query.limit));
}

Result<std::vector<LogExtent>> read_log_extents(Connection& db, RunId run) {
  const std::int64_t key = TRY(run_key(db, run));
  std::vector<LogExtent> extents;
  Statement stream =
      TRY(db.query("SELECT stream, length FROM log_streams WHERE run = ?1 ORDER BY stream", key));
  while (TRY(stream.step())) {
    LogExtent extent{.stream = static_cast<codec::LogStream>(stream.integer(0)),
                     .end = stream.integer(1),
                     .gaps = {}};
    Statement chunk =
        TRY(db.query("SELECT start, length FROM logs WHERE run = ?1 AND stream = ?2 ORDER BY start",
                     key, extent.stream));
    std::int64_t reached = 0;
    while (TRY(chunk.step())) {
      if (chunk.integer(0) > reached) extent.gaps.emplace_back(reached, chunk.integer(0));
      reached = chunk.integer(0) + chunk.integer(1);
    }
    extents.push_back(std::move(extent));
  }
  return extents;
}

// ---- phases
Result<std::vector<Phase>> read_phase_rows(Result<Statement> query) {
  return read_all(std::move(query), [](const Statement& row) {
    Phase phase;
    phase.session = row.integer(0);
    phase.id = static_cast<std::uint64_t>(row.integer(1));
    phase.parent = static_cast<std::uint64_t>(row.integer(2));
    phase.kind = static_cast<codec::PhaseKind>(row.integer(3));
    phase.start = row.maybe_utc(4);
    phase.end = row.maybe_utc(5);
    phase.name = row.text(6);
    phase.type = row.text(7);
    phase.lane = row.text(8);
    phase.links = parse_links(row.text(9));
    phase.attributes = parse_attributes(row.text(10));
    return phase;
  });
}

Result<std::vector<Phase>> read_phases(Connection& db, RunId run) {
  return read_phase_rows(db.query(std::string(kPhaseColumns) +
                                      "FROM phases WHERE run = (SELECT key FROM runs WHERE "
                                      "id = ?1) ORDER BY started NULLS FIRST, session, id",
                                  run));
}

Result<std::vector<Phase>> read_phases_after(Connection& db, RunId run,
                                             const std::optional<PhasePlace>& place,
                                             std::size_t limit) {
  const std::int64_t key = TRY(run_key(db, run));
  // Two forms of statements: with the place as one condition both engines walk the index.
  if (!place) {
    return read_phase_rows(db.query(std::string(kPhaseColumns) +
                                        "FROM phases WHERE run = ?1 AND started IS NOT NULL "
                                        "ORDER BY started, session, id LIMIT ?2",
                                    key, limit));
  }
  return read_phase_rows(
      db.query(std::string(kPhaseColumns) +
                   "FROM phases WHERE run = ?1 AND started >= ?2 AND (started, session, id) > (?2, "
                   "?3, ?4) ORDER BY started, session, id LIMIT ?5",
               key, place->start, place->session, place->id, limit));
}

Result<PhaseCounts> read_phase_counts(Connection& db, RunId run) {
  const std::int64_t key = TRY(run_key(db, run));
  Statement row = TRY(db.query(
      "SELECT count(started), count(CASE WHEN started IS NOT NULL AND ended IS NULL THEN 1 END), "
      "count(CASE WHEN started IS NULL THEN 1 END), count(CASE WHEN ended < started THEN 1 END), "
      "count(CASE WHEN parent <> 0 AND NOT EXISTS (SELECT 1 FROM phases q WHERE q.session = "
      "p.session AND q.id = p.parent) THEN 1 END) FROM phases p WHERE run = ?1",
      key));
  PhaseCounts counts;
  if (!TRY(row.step())) return counts;
  counts.phases = row.integer(0);
  counts.unended = row.integer(1);
  counts.ends_alone = row.integer(2);
  counts.backwards = row.integer(3);
  counts.unknown_parents = row.integer(4);
  return counts;
}

Result<std::vector<std::pair<std::int64_t, std::uint64_t>>> read_linked_phases(Connection& db,
                                                                               RunId run,
                                                                               std::size_t limit) {
  const std::int64_t key = TRY(run_key(db, run));
  Statement row =
      TRY(db.query("SELECT session, links FROM phases WHERE run = ?1 AND links <> ''", key));
  std::vector<std::pair<std::int64_t, std::uint64_t>> linked;
  while (linked.size() < limit && TRY(row.step())) {
    for (const std::uint64_t id : parse_links(row.text(1))) linked.emplace_back(row.integer(0), id);
  }
  return linked;
}

}  // namespace corral::store::sql
