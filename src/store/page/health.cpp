#include "store/page/health.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "core/time.h"
#include "store/content.h"

namespace corral::store::page {
namespace {

using sql::Connection;
using sql::Statement;

constexpr std::int64_t kMostLanes = 1000;

std::string process_of(const Statement& row) {
  if (row.text(2) == "supervisor") return {};
  const auto rank = row.maybe_integer(4);
  return rank ? fmt::format("rank {}", *rank) : fmt::format("pid {}", row.integer(3));
}

// Phases of one lane that are inside of no other follow one another; where a script has made some
// that overlap, their sum may be longer than the time.
Result<std::vector<LaneCoverage>> read_coverage(Connection& db, const Run& run) {
  const UtcTime end = run.end.value_or(run.newest);
  const double length = seconds(end - run.start);
  Statement row = TRY(db.query(
      "SELECT lane, count(*), CAST(sum(least(ended, ?3) - greatest(started, ?2)) AS BIGINT) FROM "
      "phases WHERE run = (SELECT key FROM runs WHERE id = ?1) AND parent = 0 AND started < ?3 AND "
      "(ended IS NULL OR ended > ?2) GROUP BY lane ORDER BY lane LIMIT ?4",
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

}  // namespace

bool HealthPart::troubled() const {
  using codec::HealthState;
  const HealthState state = latest().state;
  if (state == HealthState::kNotCaptured) return !part.starts_with("listener.");
  return state != HealthState::kActive;
}

Result<std::vector<HealthPart>> health_parts(Connection& db, RunId run) {
  Statement row = TRY(db.query(
      "SELECT e.time, e.attributes, s.role, s.pid, s.rank FROM events e JOIN sessions s ON s.key = "
      "e.session WHERE e.run = (SELECT key FROM runs WHERE id = ?1) AND e.name = 'health' AND "
      "e.origin = 'corral' ORDER BY e.time, e.id LIMIT ?2",
      run, kMostHealthChanges));
  static_assert(codec::kHealthEvent == "health");  // as the index has it
  std::vector<HealthPart> parts;
  std::map<std::pair<std::string, std::string>, std::size_t> place;
  while (TRY(row.step())) {
    auto health = codec::health_of(attributes_of(row.text(1)));
    if (!health) continue;
    std::string process = process_of(row);
    const auto [known, added] = place.try_emplace({health->part, process}, parts.size());
    if (added) parts.push_back({std::move(health->part), std::move(process), {}});
    parts[known->second].changes.push_back(
        {.at = row.utc(0), .state = health->state, .reason = std::move(health->reason)});
  }
  return parts;
}

Result<RunHealth> run_health(Connection& db, const Run& run) {
  return RunHealth{.parts = TRY(health_parts(db, run.id)), .coverage = TRY(read_coverage(db, run))};
}

}  // namespace corral::store::page
