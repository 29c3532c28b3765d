// Runs of a workload and the runs that overlapped with it on the same hosts, with the devices and
// CPUs in their tags. query/sharing.h finds from these which runs shared a device or CPU.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/result.h"
#include "store/model/records.h"
#include "store/model/transaction.h"

namespace corral::store::page {

struct SharingRun {
  std::int64_t key = 0;
  RunId id;
  std::string name;
  ExperimentId experiment;
  WorkloadId workload;
  std::string workload_name;  // empty: a run's own
  RunStatus status = RunStatus::kRunning;
  UtcTime start, end;  // end: the newest time while it runs
  std::string host;
  std::vector<std::pair<std::string, std::string>> tags;  // those that begin with "corral."
  // Its reader does not see it: id and workload stand for others, and its name says so.
  bool hidden = false;
  std::vector<std::pair<std::string, std::string>> uuids;  // "gpu0", "GPU-…": what it saw
};

// At most this many runs of other workloads, and none that began longer before the workload.
inline constexpr std::int64_t kMostNeighbours = 1000;
inline constexpr Nanos kLongestNeighbour = std::chrono::hours(24 * 60);

// True if all data of the run came from `corral import`, whose sources may not say how it ended.
Result<bool> is_imported(Reading& reading, RunId run);
// Runs of one workload; empty: there is none.
Result<std::vector<SharingRun>> runs_of_workload(Reading& reading, WorkloadId id);
// All runs, of one experiment or of every, the oldest first.
Result<std::vector<SharingRun>> runs_of_experiment(Reading& reading,
                                                   std::optional<ExperimentId> id);
// Runs that the scheduler of a plan started (tag corral.plan), repeated ones included; the oldest
// first.
Result<std::vector<SharingRun>> runs_of_plan(Reading& reading, const std::string& plan);
// Runs of other experiments that overlapped in time with a run of this one, on any host, hidden
// ones too; the oldest first.
Result<std::vector<SharingRun>> runs_beside_experiment(Reading& reading, ExperimentId id);
// Runs of other workloads that overlapped in time with one of `runs`, on its host; hidden ones,
// too.
Result<std::vector<SharingRun>> neighbours_of(Reading& reading, WorkloadId id,
                                              const std::vector<SharingRun>& runs);

// Ended runs on the host whose tag `tag` is set (not empty, 0 or false), the newest first; at most
// `limit`.
Result<std::vector<SharingRun>> tagged_runs_of_host(Reading& reading, const std::string& host,
                                                    std::string_view tag, std::int64_t limit);

// The same of many workloads, from runs that were read already.
class Neighbours {
 public:
  // Indexes the runs that can be neighbours. `runs` must outlive the object.
  explicit Neighbours(const std::vector<SharingRun>& runs);
  [[nodiscard]] std::vector<SharingRun> of(WorkloadId id,
                                           const std::vector<SharingRun>& runs) const;

 private:
  // By start. A block's latest end tells whether it is worth a look.
  struct Host {
    std::vector<const SharingRun*> runs;
    std::vector<UtcTime> latest;
  };
  std::map<std::string, Host> hosts_;
};
// A tag's value; empty: not set.
inline std::string_view tag_of(const SharingRun& run, std::string_view key) {
  for (const auto& [name, value] : run.tags) {
    if (name == key) return value;
  }
  return {};
}

}  // namespace corral::store::page
