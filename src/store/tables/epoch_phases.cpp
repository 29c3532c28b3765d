#include "store/tables/epoch_phases.h"
#include "store/engine/database.h"

namespace corral::store::page {
namespace {

// From a row of name, lane, started, ended, attributes.
NamedPhase phase_of(const sql::Statement& row) {
  NamedPhase phase{.name = row.text(0), .lane = row.text(1), .start = row.utc(2)};
  if (!row.is_null(3)) phase.end = row.utc(3);
  phase.attributes = attributes_of(row.text(4));
  return phase;
}

}  // namespace

Result<std::vector<NamedPhase>> epoch_phases(Reading& reading, RunId run, std::size_t limit) {
  sql::Connection& db = reading;
  sql::Statement row = TRY(
      db.query("SELECT name, lane, started, ended, attributes FROM phases WHERE run = (SELECT key "
               "FROM runs WHERE id = ?1) AND started IS NOT NULL AND lower(name) LIKE 'epoch%' "
               "ORDER BY started, session, id LIMIT ?2",
               run, limit));
  std::vector<NamedPhase> phases;
  while (TRY(row.step())) phases.push_back(phase_of(row));
  return phases;
}

Result<std::optional<NamedPhase>> nth_phase(Reading& reading, RunId run, const std::string& name,
                                            std::size_t index) {
  sql::Connection& db = reading;
  sql::Statement row = TRY(
      db.query("SELECT name, lane, started, ended, attributes FROM phases WHERE run = (SELECT key "
               "FROM runs WHERE id = ?1) AND started IS NOT NULL AND name = ?2 AND lane = (SELECT "
               "lane FROM phases WHERE run = (SELECT key FROM runs WHERE id = ?1) AND started IS "
               "NOT NULL AND name = ?2 ORDER BY started, session, id LIMIT 1) "
               "ORDER BY started, session, id LIMIT 1 OFFSET ?3",
               run, name, index));
  if (!TRY(row.step())) return std::nullopt;
  return phase_of(row);
}

Result<std::optional<UtcTime>> first_step(Reading& reading, RunId run) {
  sql::Connection& db = reading;
  const auto first = TRY(db.number(
      "SELECT min(started) FROM phases WHERE run = (SELECT key FROM runs WHERE id = ?1) AND "
      "lower(name) IN ('step', 'train_step', 'training_step', 'batch', 'train_batch', "
      "'run_training_batch')",
      run));
  return first ? std::optional(utc_time(*first)) : std::nullopt;
}

}  // namespace corral::store::page
