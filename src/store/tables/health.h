// Health of a run (docs/health.md): the coverage of its capture, listeners and sources, gathered
// from the events that report it, and how much of the run's time its phases cover.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "codec/health.h"
#include "core/result.h"
#include "store/model/records.h"
#include "store/model/transaction.h"

namespace corral::store::page {

struct HealthChange {
  UtcTime at;
  codec::HealthState state;
  std::string reason;  // empty when active
};

// One part as one process reports it.
struct HealthPart {
  std::string part;
  // "rank 3", "pid 4711", and where that is another's name already "rank 3, pid 4711 on node7";
  // empty: the only supervisor.
  std::string process;
  std::vector<HealthChange> changes;  // by time, never empty
  [[nodiscard]] const HealthChange& latest() const { return changes.back(); }
  // True if the run lacks something that a person would expect; a device that is not there is not.
  [[nodiscard]] bool troubled() const;
};

struct LaneCoverage {
  std::string lane;
  std::int64_t phases = 0;  // outermost ones
  double share = 0;         // share of the run's time inside them, 0 to 1
};

struct RunHealth {
  std::vector<HealthPart> parts;       // in the order of their first report
  std::vector<LaneCoverage> coverage;  // by lane; empty: the run has no phases
};

// If a run has more changes, half of this number is read from the start and half from the end.
inline constexpr std::int64_t kMostHealthChanges = 10'000;

Result<std::vector<HealthPart>> health_parts(Reading& reading, RunId run);
Result<RunHealth> run_health(Reading& reading, const Run& run);

}  // namespace corral::store::page
