#include "store/maintain/finding.h"

#include <fmt/core.h>

namespace corral::store::maintain {

void Findings::add(std::string table, std::string what, std::vector<RunId> runs) {
  ++count_;
  if (kept_.size() >= kMost) return;
  kept_.push_back({.table = std::move(table), .what = std::move(what), .runs = std::move(runs)});
}

// A run that cannot be looked up stays unknown: the store is damaged, after all.
std::vector<RunId> Findings::find_runs(const char* sql, std::int64_t key) {
  std::vector<RunId> runs;
  auto row = db_.query(sql, key);
  if (!row) return runs;
  for (auto more = row->step(); more && *more; more = row->step())
    runs.push_back(row->id128<RunId>(0));
  return runs;
}

void Findings::add_session(std::string table, const std::string& what, std::int64_t session) {
  add(std::move(table), fmt::format("session {}: {}", session, what),
      find_runs("SELECT r.id FROM sessions s JOIN runs r ON r.key = s.run WHERE s.key = ?1",
                session));
}

void Findings::add_run(std::string table, const std::string& what, std::int64_t run) {
  add(std::move(table), what, find_runs("SELECT id FROM runs WHERE key = ?1", run));
}

void Findings::add_series(std::string table, const std::string& what, SeriesId series) {
  std::string name = fmt::format("series {}", series.value);
  if (auto row = db_.query("SELECT name, source FROM series WHERE id = ?1", series)) {
    if (const auto found = row->step(); found && *found)
      name +=
          fmt::format(" ({}{}{})", row->text(0), row->text(1).empty() ? "" : " of ", row->text(1));
  }
  add(std::move(table), fmt::format("{}: {}", name, what),
      find_runs(
          "SELECT r.id FROM series s JOIN runs r ON (s.owner_kind = 0 AND r.key = s.owner) OR "
          "(s.owner_kind = 1 AND r.workload = s.owner) OR (s.owner_kind = 2 AND (r.machine "
          "= s.owner OR r.key IN (SELECT m.run FROM members m WHERE m.machine = s.owner))) WHERE "
          "s.id = ?1 ORDER BY r.key LIMIT 20",
          series.value));
}

}  // namespace corral::store::maintain
