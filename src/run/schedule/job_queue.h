// JobQueue: jobs of a cluster that run one workload of a plan each.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"

namespace corral::run::schedule {

struct QueuedJob {
  std::string id;
  std::string name;
  std::string state;   // "PENDING", "RUNNING", "COMPLETED", "TIMEOUT", ...
  std::string reason;  // why it waits or ended: "Resources", "NodeFail", ...; empty: none
  [[nodiscard]] bool waits() const { return state == "PENDING"; }
  // Nothing of it executes any more, and nothing will.
  [[nodiscard]] bool ended() const;
};

struct NewJob {
  std::string name;                  // unique: a job whose id was lost is found by it
  std::filesystem::path script;      // for sh
  std::filesystem::path output;      // takes the script's output
  std::filesystem::path directory;   // its working directory
  std::vector<std::string> options;  // the user's own, for this kind of cluster
};

class JobQueue {
 public:
  virtual ~JobQueue() = default;
  // The id. kUnavailable: it is not known whether there is a job now. Any other error: there is
  // none.
  virtual Result<std::string> submit(const NewJob& job) = 0;
  // All of this user's that it still knows, ended ones for some minutes.
  virtual Result<std::vector<QueuedJob>> jobs() = 0;
};

// By sbatch and squeue, which are looked for in PATH.
std::unique_ptr<JobQueue> slurm_queue();

// Reads `squeue --noheader --format=%i|%j|%T|%r`.
std::vector<QueuedJob> parse_squeue(std::string_view said);

}  // namespace corral::run::schedule
