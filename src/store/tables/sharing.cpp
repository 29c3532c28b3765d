#include "store/tables/sharing.h"

#include <algorithm>
#include <array>
#include <span>
#include <unordered_map>

#include "codec/frame.h"
#include "core/json.h"
#include "core/sha256.h"
#include "store/engine/database.h"

namespace corral::store::page {
namespace {

using sql::Connection;
using sql::Statement;

// Hidden runs are neighbours, too: a device is shared with them all the same. Only where and when
// they were is read of them.
enum class Part : std::uint8_t { kSeen, kHidden };

std::span<const Part> parts_of(const Reading& reading) {
  static constexpr std::array kBoth = {Part::kSeen, Part::kHidden};
  return reading.access().sees_all() ? std::span(kBoth).first(1) : std::span(kBoth);
}

// The table's name, or that of the view of its hidden rows.
std::string table_of(Part part, std::string_view table) {
  return (part == Part::kHidden ? "hidden_" : "") + std::string(table);
}

std::string columns_of(Part part) {
  return "SELECT r.key, r.id, r.name, w.id, w.name, r.status, r.started, coalesce(r.ended, "
         "r.newest), r.host, r.experiment FROM " +
         table_of(part, "runs") + " r JOIN " +
         (part == Part::kHidden ? "whole_workloads" : "workloads") + " w ON w.key = r.workload ";
}

// An id that stands for another one until this process ends, and does not tell it.
template <class Id>
Id stand_in(const Id& id) {
  static const std::string secret = RunId::random().hex();
  const Sha256 hash = sha256(secret + id.hex());
  Id other;
  std::copy_n(hash.begin(), other.bytes.size(), other.bytes.begin());
  return other;
}

void hide(SharingRun& run) {
  run.hidden = true;
  run.id = stand_in(run.id);
  run.workload = stand_in(run.workload);
  run.name = "a run that you may not see";
  run.workload_name.clear();
  run.experiment = ExperimentId{-1};
  for (auto& [key, value] : run.tags)
    if (key == "corral.plan") value = "hidden";
}

SharingRun run_from_row(const Statement& row) {
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
  run.experiment = ExperimentId{row.integer(9)};
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
Result<> read_facts(Connection& db, Part part, SharingRun& run) {
  const std::string facts = "SELECT key, value FROM " + table_of(part, "facts");
  {
    Statement tag = TRY(db.query(facts + " WHERE run = ?1 AND kind = ?2 AND key > 'corral.' AND "
                                         "key < 'corral/' ORDER BY key",
                                 run.key, codec::FactKind::kTag));
    while (TRY(tag.step())) run.tags.emplace_back(tag.text(0), tag.text(1));
  }
  Statement info = TRY(db.query(facts + " WHERE run = ?1 AND kind = ?2 AND key > 'device.' AND key "
                                        "< 'device/' ORDER BY key",
                                run.key, codec::FactKind::kInfo));
  while (TRY(info.step())) add_uuid(run, info.text(0), info.text(1));
  return {};
}

Result<std::vector<SharingRun>> read_runs(Connection& db, Part part, Result<Statement> query) {
  auto runs = TRY(sql::read_all(std::move(query), run_from_row));
  for (SharingRun& run : runs) TRY(read_facts(db, part, run));
  if (part == Part::kHidden) std::ranges::for_each(runs, hide);
  return runs;
}

struct Stay {
  UtcTime start, end;
};

// By host, from the first begin to the last end.
std::map<std::string, Stay> host_stays(const std::vector<SharingRun>& runs) {
  std::map<std::string, Stay> hosts;
  for (const SharingRun& run : runs) {
    if (run.host.empty()) continue;
    const auto [host, fresh] = hosts.try_emplace(run.host, Stay{run.start, run.end});
    host->second.start = std::min(host->second.start, run.start);
    host->second.end = std::max(host->second.end, run.end);
  }
  return hosts;
}

// Many runs of a part and their facts, in three queries. `where` is about runs r.
template <class... Values>
Result<std::vector<SharingRun>> runs_where(Connection& db, Part part, const std::string& where,
                                           const Values&... values) {
  const std::string living = " WHERE " + where + " AND r.lifecycle <= 0";
  std::vector<SharingRun> runs;
  std::unordered_map<std::int64_t, std::size_t> places;
  {
    Statement row =
        TRY(db.query(columns_of(part) + living + " ORDER BY r.started, r.id", values...));
    while (TRY(row.step())) {
      places.emplace(row.integer(0), runs.size());
      runs.push_back(run_from_row(row));
    }
  }
  const auto facts = [&](std::string_view kind, std::string_view begin, const auto& take) {
    return db
        .query("SELECT f.run, f.key, f.value FROM " + table_of(part, "runs") + " r JOIN " +
                   table_of(part, "facts") + " f ON f.run = r.key AND f.kind = " +
                   std::string(kind) + " AND f.key > '" + std::string(begin) + ".' AND f.key < '" +
                   std::string(begin) + "/'" + living + " ORDER BY f.key",
               values...)
        .and_then([&](Statement fact) -> Result<> {
          while (TRY(fact.step())) {
            const auto run = places.find(fact.integer(0));
            if (run != places.end()) take(runs[run->second], fact.text(1), fact.text(2));
          }
          return {};
        });
  };
  TRY(facts(std::to_string(static_cast<int>(codec::FactKind::kTag)), "corral",
            [](SharingRun& run, std::string key, std::string value) {
              run.tags.emplace_back(std::move(key), std::move(value));
            }));
  TRY(facts(std::to_string(static_cast<int>(codec::FactKind::kInfo)), "device",
            [](SharingRun& run, const std::string& key, const std::string& value) {
              add_uuid(run, key, value);
            }));
  if (part == Part::kHidden) std::ranges::for_each(runs, hide);
  return runs;
}

// Nobody meets a run that says nothing of where it was (query/sharing.h).
bool has_place(const SharingRun& run) {
  return !tag_of(run, "corral.devices").empty() || !tag_of(run, "corral.cpus").empty() ||
         !tag_of(run, "corral.plan").empty();
}

constexpr std::size_t kBlock = 256;

}  // namespace

Neighbours::Neighbours(const std::vector<SharingRun>& runs) {
  for (const SharingRun& run : runs)
    if (!run.host.empty() && has_place(run)) hosts_[run.host].runs.push_back(&run);
  for (auto& [name, host] : hosts_) {
    std::ranges::sort(host.runs, {},
                      [](const SharingRun* run) { return std::pair(run->start, run->id); });
    for (std::size_t i = 0; i < host.runs.size(); ++i) {
      if (i % kBlock == 0) host.latest.push_back(host.runs[i]->end);
      host.latest.back() = std::max(host.latest.back(), host.runs[i]->end);
    }
  }
}

std::vector<SharingRun> Neighbours::of(WorkloadId id, const std::vector<SharingRun>& runs) const {
  std::vector<SharingRun> all;
  for (const auto& [name, stay] : host_stays(runs)) {
    const auto found = hosts_.find(name);
    if (found == hosts_.end()) continue;
    const Host& host = found->second;
    std::int64_t left = kMostNeighbours;
    const auto behind = std::ranges::lower_bound(host.runs, stay.end, {}, &SharingRun::start);
    for (auto i = static_cast<std::size_t>(behind - host.runs.begin()); i > 0 && left > 0;) {
      // From the newest on, block by block.
      if (i % kBlock == 0 && host.latest[i / kBlock - 1] <= stay.start) {
        i -= kBlock;
        continue;
      }
      const SharingRun& run = *host.runs[--i];
      if (run.start < stay.start - kLongestNeighbour) break;
      if (run.end <= stay.start || run.workload == id) continue;
      all.push_back(run);
      --left;
    }
  }
  return all;
}

Result<bool> is_imported(Reading& reading, RunId run) {
  const auto others = TRY(reading->number(
      "SELECT count(*) FROM sessions s JOIN runs r ON r.key = s.run WHERE r.id = ?1 AND s.role <> "
      "'import'",
      run));
  return others == 0;
}

Result<std::vector<SharingRun>> runs_of_workload(Reading& reading, WorkloadId id) {
  return runs_where(reading, Part::kSeen, "r.workload = (SELECT key FROM workloads WHERE id = ?1)",
                    id);
}

Result<std::vector<SharingRun>> runs_of_experiment(Reading& reading,
                                                   std::optional<ExperimentId> id) {
  return runs_where(reading, Part::kSeen, "(?1 IS NULL OR r.experiment = ?1)", id);
}

Result<std::vector<SharingRun>> runs_of_plan(Reading& reading, const std::string& plan) {
  return runs_where(reading, Part::kSeen,
                    "EXISTS (SELECT 1 FROM facts p WHERE p.run = r.key AND p.kind = ?1 AND p.key = "
                    "'corral.plan' AND p.value = ?2)",
                    codec::FactKind::kTag, plan);
}

Result<std::vector<SharingRun>> runs_beside_experiment(Reading& reading, ExperimentId id) {
  UtcTime first;
  UtcTime last;
  {
    Statement row =
        TRY(reading->query("SELECT coalesce(min(started), 0), coalesce(max(coalesce(ended, "
                           "newest)), 0) FROM runs WHERE experiment = ?1 AND lifecycle <= 0",
                           id));
    if (!TRY(row.step())) return std::vector<SharingRun>();
    first = row.utc(0);
    last = row.utc(1);
  }
  std::vector<SharingRun> all;
  for (const Part part : parts_of(reading)) {
    auto found = TRY(runs_where(reading, part,
                                "r.experiment <> ?1 AND r.started >= ?2 AND r.started < ?3 AND "
                                "coalesce(r.ended, r.newest) > ?4",
                                id, first - kLongestNeighbour, last, first));
    std::ranges::move(found, std::back_inserter(all));
  }
  std::ranges::sort(all, {}, [](const SharingRun& run) { return std::pair(run.start, run.id); });
  return all;
}

Result<std::vector<SharingRun>> neighbours_of(Reading& reading, WorkloadId id,
                                              const std::vector<SharingRun>& runs) {
  std::vector<SharingRun> all;
  for (const auto& [host, stay] : host_stays(runs)) {
    for (const Part part : parts_of(reading)) {
      auto found = TRY(read_runs(
          reading, part,
          reading->query(
              columns_of(part) + "WHERE r.host = ?1 AND r.started >= ?2 AND r.started < ?3 AND "
                                 "coalesce(r.ended, r.newest) > ?4 AND w.id <> ?5 AND "
                                 "r.lifecycle <= 0 ORDER BY r.started DESC, r.id DESC LIMIT ?6",
              host, stay.start - kLongestNeighbour, stay.end, stay.start, id, kMostNeighbours)));
      std::ranges::move(found, std::back_inserter(all));
    }
  }
  return all;
}

Result<std::vector<SharingRun>> tagged_runs_of_host(Reading& reading, const std::string& host,
                                                    std::string_view tag, std::int64_t limit) {
  return read_runs(
      reading, Part::kSeen,
      reading->query(
          columns_of(Part::kSeen) +
              "WHERE r.host = ?1 AND r.ended IS NOT NULL AND r.lifecycle <= 0 AND EXISTS "
              "(SELECT 1 FROM facts f WHERE f.run = r.key AND f.kind = ?2 AND f.key = "
              "?3 AND f.value NOT IN ('', '0', 'false')) ORDER BY r.started DESC, r.id "
              "DESC LIMIT ?4",
          host, codec::FactKind::kTag, tag, limit));
}

}  // namespace corral::store::page
