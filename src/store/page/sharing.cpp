#include "store/page/sharing.h"

#include <algorithm>
#include <map>
#include <unordered_map>

#include "codec/frame.h"
#include "core/json.h"

namespace corral::store::page {
namespace {

using sql::Connection;
using sql::Statement;

constexpr std::string_view kColumns =
    "SELECT r.key, r.id, r.name, w.id, w.name, r.status, r.started, coalesce(r.ended, r.newest), "
    "r.host FROM runs r JOIN workloads w ON w.key = r.workload ";

SharingRun run_of_row(const Statement& row) {
  SharingRun run;
  run.key = row.integer(0);
  run.id = row.id128<RunId>(1);
  run.name = row.text(2);
  run.workload = row.id128<WorkloadId>(3);
  run.workload_name = row.text(4);
  run.status = static_cast<RunStatus>(row.integer(5));
  run.start = row.utc(6);
  run.end = std::max(run.start, row.utc(7));
  run.host = row.text(8);
  return run;
}

// "device.gpu0.uuid" -> "gpu0"
void add_uuid(SharingRun& run, std::string_view key, const std::string& value) {
  constexpr std::string_view kBegin = "device.";
  constexpr std::string_view kEnd = ".uuid";
  if (!key.starts_with(kBegin) || !key.ends_with(kEnd) || key.size() <= kBegin.size() + kEnd.size())
    return;
  const auto uuid = Json::parse(value);
  if (!uuid || uuid->as_string() == nullptr) return;
  key.remove_prefix(kBegin.size());
  key.remove_suffix(kEnd.size());
  run.uuids.emplace_back(key, *uuid->as_string());
}

// Keys with a prefix are a range of the table's own order: '/' follows '.'.
Result<> read_facts(Connection& db, SharingRun& run) {
  {
    Statement tag =
        TRY(db.query("SELECT key, value FROM facts WHERE run = ?1 AND kind = ?2 AND key > "
                     "'corral.' AND key < 'corral/' ORDER BY key",
                     run.key, codec::FactKind::kTag));
    while (TRY(tag.step())) run.tags.emplace_back(tag.text(0), tag.text(1));
  }
  Statement info =
      TRY(db.query("SELECT key, value FROM facts WHERE run = ?1 AND kind = ?2 AND key > "
                   "'device.' AND key < 'device/' ORDER BY key",
                   run.key, codec::FactKind::kInfo));
  while (TRY(info.step())) add_uuid(run, info.text(0), info.text(1));
  return {};
}

Result<std::vector<SharingRun>> runs_of(Connection& db, Result<Statement> query) {
  std::vector<SharingRun> runs;
  {
    Statement row = TRY(std::move(query));
    while (TRY(row.step())) runs.push_back(run_of_row(row));
  }
  for (SharingRun& run : runs) TRY(read_facts(db, run));
  return runs;
}

struct Stay {
  UtcTime start, end;
};

}  // namespace

Result<std::vector<SharingRun>> runs_of_workload(Connection& db, WorkloadId id) {
  return runs_of(db, db.query(std::string(kColumns) +
                                  "WHERE r.workload = (SELECT key FROM workloads WHERE id = ?1) "
                                  "AND r.lifecycle = 0 ORDER BY r.started, r.id",
                              id));
}

Result<std::vector<SharingRun>> runs_of_experiment(Connection& db, std::optional<ExperimentId> id) {
  std::vector<SharingRun> runs;
  std::unordered_map<std::int64_t, std::size_t> places;
  {
    Statement row = TRY(db.query(std::string(kColumns) +
                                     "WHERE (?1 IS NULL OR r.experiment = ?1) AND r.lifecycle = 0 "
                                     "ORDER BY r.started, r.id",
                                 id));
    while (TRY(row.step())) {
      places.emplace(row.integer(0), runs.size());
      runs.push_back(run_of_row(row));
    }
  }
  Statement tag =
      TRY(db.query("SELECT f.run, f.key, f.value FROM runs r JOIN facts f ON f.run = r.key AND "
                   "f.kind = ?2 AND f.key > 'corral.' AND f.key < 'corral/' WHERE (?1 IS NULL OR "
                   "r.experiment = ?1) AND r.lifecycle = 0",
                   id, codec::FactKind::kTag));
  while (TRY(tag.step())) {
    const auto run = places.find(tag.integer(0));
    if (run != places.end()) runs[run->second].tags.emplace_back(tag.text(1), tag.text(2));
  }
  return runs;
}

Result<std::vector<SharingRun>> neighbours_of(Connection& db, WorkloadId id,
                                              const std::vector<SharingRun>& runs) {
  std::map<std::string, Stay> hosts;
  for (const SharingRun& run : runs) {
    const auto [host, fresh] = hosts.try_emplace(run.host, Stay{run.start, run.end});
    host->second.start = std::min(host->second.start, run.start);
    host->second.end = std::max(host->second.end, run.end);
  }
  std::vector<SharingRun> all;
  for (const auto& [host, stay] : hosts) {
    if (host.empty()) continue;
    auto found = TRY(runs_of(
        db,
        db.query(std::string(kColumns) +
                     "WHERE r.host = ?1 AND r.started >= ?2 AND r.started < ?3 AND "
                     "coalesce(r.ended, r.newest) > ?4 AND w.id <> ?5 AND r.lifecycle = 0 "
                     "ORDER BY r.started DESC, r.id DESC LIMIT ?6",
                 host, stay.start - kLongestNeighbour, stay.end, stay.start, id, kMostNeighbours)));
    std::ranges::move(found, std::back_inserter(all));
  }
  return all;
}

}  // namespace corral::store::page
