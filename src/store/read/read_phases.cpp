#include <charconv>

#include "core/text.h"
#include "store/model/content.h"
#include "store/read/reads.h"

namespace corral::store::sql {
namespace {

std::vector<std::uint64_t> links_of(std::string_view text) {
  std::vector<std::uint64_t> links;
  if (text.empty()) return links;
  for (const std::string_view part : split(text, ',')) {
    std::uint64_t link = 0;
    std::from_chars(part.data(), part.data() + part.size(), link);
    links.push_back(link);
  }
  return links;
}

Result<std::int64_t> key_of(Connection& db, RunId run) {
  return TRY(db.number("SELECT key FROM runs WHERE id = ?1", run)).value_or(0);
}

}  // namespace

Result<std::vector<Phase>> phases_of(Result<Statement> query) {
  Statement row = TRY(std::move(query));
  std::vector<Phase> phases;
  while (TRY(row.step())) {
    Phase phase;
    phase.session = row.integer(0);
    phase.id = static_cast<std::uint64_t>(row.integer(1));
    phase.parent = static_cast<std::uint64_t>(row.integer(2));
    phase.kind = static_cast<codec::PhaseKind>(row.integer(3));
    if (!row.is_null(4)) phase.start = row.utc(4);
    if (!row.is_null(5)) phase.end = row.utc(5);
    phase.name = row.text(6);
    phase.type = row.text(7);
    phase.lane = row.text(8);
    phase.links = links_of(row.text(9));
    phase.attributes = attributes_of(row.text(10));
    phases.push_back(std::move(phase));
  }
  return phases;
}

Result<std::vector<Phase>> read_phases(Connection& db, RunId run) {
  return phases_of(
      db.query(std::string(kPhaseColumns) +
                   "FROM phases WHERE run = (SELECT key FROM runs WHERE id = ?1) ORDER BY "
                   "started "
                   "NULLS FIRST, session, id",
               run));
}

Result<std::vector<Phase>> read_phases_after(Connection& db, RunId run,
                                             const std::optional<PhasePlace>& place,
                                             std::size_t limit) {
  const std::int64_t key = TRY(key_of(db, run));
  // Two forms of statements: with the place as one condition both engines walk the index.
  if (!place) {
    return phases_of(
        db.query(std::string(kPhaseColumns) +
                     "FROM phases WHERE run = ?1 AND started IS NOT NULL ORDER BY started, "
                     "session, id LIMIT ?2",
                 key, limit));
  }
  return phases_of(db.query(
      std::string(kPhaseColumns) +
          "FROM phases WHERE run = ?1 AND started >= ?2 AND (started, session, id) > (?2, ?3, ?4) "
          "ORDER BY started, session, id LIMIT ?5",
      key, place->start, place->session, place->id, limit));
}

Result<PhaseCounts> read_phase_counts(Connection& db, RunId run) {
  const std::int64_t key = TRY(key_of(db, run));
  Statement row = TRY(
      db.query("SELECT count(started), count(CASE WHEN started IS NOT NULL AND ended IS NULL THEN "
               "1 END), count(CASE WHEN started IS NULL THEN 1 END), count(CASE WHEN ended < "
               "started THEN 1 END), count(CASE WHEN parent <> 0 AND NOT EXISTS (SELECT 1 FROM "
               "phases q WHERE q.session = p.session AND q.id = p.parent) THEN 1 END) FROM phases "
               "p WHERE run = ?1",
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
  const std::int64_t key = TRY(key_of(db, run));
  Statement row =
      TRY(db.query("SELECT session, links FROM phases WHERE run = ?1 AND links <> ''", key));
  std::vector<std::pair<std::int64_t, std::uint64_t>> linked;
  while (linked.size() < limit && TRY(row.step())) {
    for (const std::uint64_t id : links_of(row.text(1))) linked.emplace_back(row.integer(0), id);
  }
  return linked;
}

}  // namespace corral::store::sql
