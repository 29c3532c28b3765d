#include "store/search/workloads.h"

#include <string>

#include "core/ids.h"
#include "store/ingest/ingest.h"

namespace corral::store::tracking {
namespace {

using sql::Connection;

struct Place {
  std::int64_t experiment = 0, workload = 0, started = 0;
  std::string experiment_name;
};

Result<std::optional<Place>> place_of(Connection& db, std::int64_t run) {
  sql::Statement row =
      TRY(db.query("SELECT r.experiment, r.workload, r.started, e.name FROM runs r JOIN "
                   "experiments e ON e.id = r.experiment WHERE r.key = ?1 AND r.supervised = 0",
                   run));
  if (!TRY(row.step())) return std::nullopt;
  return Place{.experiment = row.integer(0),
               .workload = row.integer(1),
               .started = row.integer(2),
               .experiment_name = row.text(3)};
}

Result<std::int64_t> named_workload(Connection& db, const Place& place, std::string_view name) {
  const WorkloadId id = workload_id_of(place.experiment_name, name);
  if (const auto known = TRY(db.number("SELECT key FROM workloads WHERE id = ?1", id))) {
    TRY(db.exec("UPDATE workloads SET created = ?2 WHERE key = ?1 AND created > ?2", *known,
                place.started));
    return *known;
  }
  const auto made =
      TRY(db.number("INSERT INTO workloads (id, experiment, name, created) VALUES (?1, ?2, ?3, ?4) "
                    "ON CONFLICT (id) DO NOTHING RETURNING key",
                    id, place.experiment, name, place.started));
  if (!made) return sql::lost_race();
  return *made;
}

}  // namespace

Result<> assign_workload(Connection& db, std::int64_t run, std::string_view name) {
  const auto place = TRY(place_of(db, run));
  if (!place) return {};
  const std::int64_t workload = TRY(named_workload(db, *place, name));
  if (workload == place->workload) return {};
  TRY(db.exec("UPDATE runs SET workload = ?2 WHERE key = ?1", run, workload));
  TRY(db.exec("UPDATE sessions SET workload = ?2 WHERE run = ?1", run, workload));
  return db.exec(
      "DELETE FROM workloads WHERE key = ?1 AND NOT EXISTS (SELECT 1 FROM runs WHERE workload = "
      "?1) AND NOT EXISTS (SELECT 1 FROM sessions WHERE workload = ?1) AND NOT EXISTS (SELECT 1 "
      "FROM series WHERE owner_kind = 1 AND owner = ?1)",
      place->workload);
}

}  // namespace corral::store::tracking
