#include "store/tables/health.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <set>

#include "core/time.h"
#include "store/engine/database.h"
#include "store/model/content.h"

namespace corral::store::page {
namespace {

using sql::Connection;
using sql::Statement;

constexpr std::int64_t kMostLanes = 1000;

// Two processes may name the same rank or pid: a child has its parent's RANK, containers number
// from
// 1. From the second on the host and the pid are added.
class ProcessNames {
 public:
  const std::string& of(const Statement& row) {
    const auto [name, fresh] = names_.try_emplace(row.integer(kSession));
    if (fresh && (row.text(kRole) != "supervisor" || !row.is_null(kMember)))
      name->second = make(row);
    return name->second;
  }
  static constexpr int kSession = 2, kRole = 3, kPid = 4, kRank = 5, kHost = 6, kMember = 7;

 private:
  std::string make(const Statement& row) {
    const auto rank = row.maybe_integer(kRank);
    const std::string pid = fmt::format("pid {}", row.integer(kPid));
    std::string name = rank ? fmt::format("rank {}", *rank) : pid;
    if (taken_.insert(name).second) return name;
    name = rank ? fmt::format("{}, {}", name, pid) : name;
    return fmt::format("{} on {}", name, row.text(kHost));
  }
  std::map<std::int64_t, std::string> names_;  // by session
  std::set<std::string> taken_;
};

// If phases of one lane overlap, their common time counts once.
Result<std::vector<LaneCoverage>> read_coverage(Connection& db, const Run& run) {
  const UtcTime end = run.end.value_or(run.newest);
  const double length = seconds(end - run.start);
  Statement row = TRY(db.query(
      "SELECT lane, count(*), CAST(sum(greatest(0, till - greatest(since, coalesce(before, "
      "since)))) AS BIGINT) FROM (SELECT lane, greatest(started, ?2) AS since, least(ended, ?3) AS "
      "till, max(least(ended, ?3)) OVER (PARTITION BY lane ORDER BY started, session, id ROWS "
      "BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before FROM phases WHERE run = (SELECT key "
      "FROM runs WHERE id = ?1) AND parent = 0 AND started < ?3 AND (ended IS NULL OR ended > ?2)) "
      "AS outermost GROUP BY lane ORDER BY lane LIMIT ?4",
      run.id, run.start, end, kMostLanes));
  std::vector<LaneCoverage> lanes;
  while (TRY(row.step())) {
    const double covered = seconds(Nanos(row.integer(2)));
    lanes.push_back({.lane = row.text(0),
                     .phases = row.integer(1),
                     .share = length > 0 ? std::clamp(covered / length, 0.0, 1.0) : 0});
  }
  return lanes;
}

// The first changes and the last ones, so that they include a part that was reported once, at the
// start, and the present state of a part that changed often.
constexpr std::string_view kChanges =
    "SELECT e.time, e.attributes, e.session, s.role, s.pid, s.rank, s.host, m.no FROM events e "
    "JOIN sessions s ON s.key = e.session LEFT JOIN members m ON m.session = s.key WHERE e.id IN "
    "(SELECT id FROM (SELECT id FROM events WHERE "
    "run = ?1 AND name = 'health' AND origin = 'corral' ORDER BY id LIMIT ?2) AS oldest UNION "
    "SELECT id FROM (SELECT id FROM events WHERE run = ?1 AND name = 'health' AND origin = "
    "'corral' ORDER BY id DESC LIMIT ?2) AS newest) ORDER BY e.time, e.id";

}  // namespace

bool HealthPart::troubled() const {
  using codec::HealthState;
  const HealthState state = latest().state;
  if (state == HealthState::kNotCaptured) return !part.starts_with("listener.");
  return state != HealthState::kActive;
}

Result<std::vector<HealthPart>> health_parts(Reading& reading, RunId run) {
  const auto key = TRY(reading->number("SELECT key FROM runs WHERE id = ?1", run));
  Statement row =
      TRY(reading->query(std::string(kChanges), key.value_or(0), kMostHealthChanges / 2));
  static_assert(codec::kHealthEvent == "health");  // as the index has it
  std::vector<HealthPart> parts;
  ProcessNames names;
  std::map<std::pair<std::string, std::int64_t>, std::size_t> place;
  while (TRY(row.step())) {
    auto health = codec::health_of(parse_attributes(row.text(1)));
    if (!health) continue;
    const std::string& process = names.of(row);
    // Supervisors follow each other; of processes each tells its own.
    const std::int64_t teller = process.empty() ? 0 : row.integer(ProcessNames::kSession);
    const auto [known, added] = place.try_emplace({health->part, teller}, parts.size());
    if (added) parts.push_back({std::move(health->part), process, {}});
    parts[known->second].changes.push_back(
        {.at = row.utc(0), .state = health->state, .reason = std::move(health->reason)});
  }
  return parts;
}

Result<RunHealth> run_health(Reading& reading, const Run& run) {
  RunHealth health;
  health.parts = TRY(health_parts(reading, run.id));
  health.coverage = TRY(read_coverage(reading, run));
  return health;
}

}  // namespace corral::store::page
