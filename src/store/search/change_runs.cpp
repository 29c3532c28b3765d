#include "store/search/change_runs.h"

#include <fmt/core.h>

#include <algorithm>
#include <numeric>

#include "store/remove/remove.h"
#include "store/search/runs.h"

namespace corral::store::tracking {
namespace {

using sql::Connection;

struct Current {
  std::int64_t key = 0;
  std::string name, creator;
  Lifecycle lifecycle = Lifecycle::kActive;
  RunStatus status = RunStatus::kRunning;
  ExperimentId experiment;
};

Result<Current> lock_current(Connection& db, RunId id) {
  auto run = TRY(sql::read_first(
      db.query("SELECT key, name, lifecycle, status, experiment, creator FROM runs WHERE id = ?1" +
                   std::string(db.dialect().lock_row),
               id),
      [](const sql::Statement& row) {
        return Current{.key = row.integer(0),
                       .name = row.text(1),
                       .creator = row.text(5),
                       .lifecycle = static_cast<Lifecycle>(row.integer(2)),
                       .status = static_cast<RunStatus>(row.integer(3)),
                       .experiment = ExperimentId{row.integer(4)}};
      }));
  if (!run) return fail(Code::kNotFound, fmt::format("there is no run {}", id.hex()));
  return *std::move(run);
}

// The tag of the name follows where a client has set it.
Result<> rename(Connection& db, const Current& run, const std::string& name, RunChange& undo) {
  if (name == run.name) return {};
  undo.name = run.name;
  TRY(db.exec("UPDATE runs SET name = ?2 WHERE key = ?1", run.key, name));
  if (TRY(fact(db, run.key, Fact::kTag, kRunNameTag)))
    TRY(set_fact(db, run.key, Fact::kTag, kRunNameTag, name));
  return {};
}

Result<> change_tags(Connection& db, const Current& run, const RunChange& change, RunChange& undo) {
  for (const auto& [key, value] : change.tags) {
    auto before = TRY(fact(db, run.key, Fact::kTag, key));
    if (before == value) continue;
    if (value) {
      TRY(set_fact(db, run.key, Fact::kTag, key, *value));
    } else {
      TRY(delete_fact(db, run.key, Fact::kTag, key));
    }
    undo.tags.emplace_back(key, std::move(before));
  }
  return {};
}

// A run that is not in the trash is in an experiment that is there.
Result<> bring_back_experiment(Connection& db, const Current& run, UtcTime now) {
  return db.exec(
      "UPDATE experiments SET lifecycle = 0, updated = ?2 WHERE id = ?1 AND lifecycle = 1",
      run.experiment, now);
}

Result<ChangedRun> change_run(Connection& db, const Current& run, const RunToChange& wanted,
                              UtcTime now) {
  const RunChange& change = wanted.change;
  ChangedRun changed{.id = wanted.id,
                     .name = change.name.value_or(run.name),
                     .lifecycle = change.lifecycle.value_or(run.lifecycle),
                     .undo = {}};
  if (changed.lifecycle != run.lifecycle) {
    TRY(set_run_lifecycle(db, run.key, changed.lifecycle, now));
    changed.undo.lifecycle = run.lifecycle;
  }
  if (change.lifecycle && changed.lifecycle != Lifecycle::kDeleted)
    TRY(bring_back_experiment(db, run, now));
  if (change.name) TRY(rename(db, run, *change.name, changed.undo));
  TRY(change_tags(db, run, change, changed.undo));
  return changed;
}

std::optional<Error> refusal(const Current& run, const RunToChange& wanted,
                             const ChangeOptions& options) {
  const bool trashes =
      wanted.change.lifecycle == Lifecycle::kDeleted && run.lifecycle != Lifecycle::kDeleted;
  if (!trashes) return std::nullopt;
  if (auto no = not_own(run.name, run.creator, options.own_of)) return no;
  if (options.force || run.status != RunStatus::kRunning) return std::nullopt;
  return sql::still_running(run.name, wanted.id).value();
}

}  // namespace

std::optional<Error> not_own(std::string_view name, std::string_view creator,
                             const std::optional<std::string>& own_of) {
  if (!own_of || creator.empty() || creator == *own_of) return std::nullopt;
  return Error{
      Code::kPermission,
      fmt::format("'{}' was recorded by '{}': to put others' runs into the trash needs the "
                  "role owner",
                  name, creator)};
}

Result<> check_own(Connection& db, ExperimentId experiment,
                   const std::optional<std::string>& own_of) {
  if (!own_of) return {};
  // Those who make a run in it wait for each other.
  TRY(db.exec("SELECT id FROM experiments WHERE id = ?1" + std::string(db.dialect().lock_row),
              experiment));
  const auto other = TRY(sql::read_first(
      db.query("SELECT name, creator FROM runs WHERE experiment = ?1 AND lifecycle <> 1 AND "
               "creator <> '' AND creator <> ?2 LIMIT 1",
               experiment, *own_of),
      [&](const sql::Statement& row) { return not_own(row.text(0), row.text(1), own_of); }));
  if (other && *other) return tl::unexpected(**other);
  return {};
}

// Rows are locked by id, so that two requests for the same runs wait for each other.
Result<ChangedRuns> change_runs(Connection& db, std::span<const RunToChange> changes,
                                const ChangeOptions& options) {
  std::vector<std::size_t> order(changes.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, {}, [&](std::size_t at) { return changes[at].id; });
  ChangedRuns changed;
  std::vector<Current> runs(changes.size());
  for (const std::size_t at : order) {
    runs[at] = TRY(lock_current(db, changes[at].id));
    changed.refused = refusal(runs[at], changes[at], options);
    if (changed.refused) return changed;
  }
  for (std::size_t at = 0; at < changes.size(); ++at)
    changed.runs.push_back(TRY(change_run(db, runs[at], changes[at], options.now)));
  return changed;
}

}  // namespace corral::store::tracking
