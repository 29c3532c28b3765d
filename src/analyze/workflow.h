// Workflow: how the runs of a plan or workload followed each other: the critical path, waits in the
// queue, idle time of the machine, and runs that failed or were repeated.
//
// The critical path ends with the run that ended last. Before each run of it comes the run that
// ended last before that one began: on the same host, or of a workload that it came After. So its
// waits and runs add up to the makespan. Times are those of the runs' hosts; clocks of several
// hosts are compared as they are. Durations in seconds; times may lie anywhere. Pure; any thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analyze/explain/leaves.h"
#include "core/result.h"

namespace corral::analyze {

// A run may begin this much before the end of the one that it waited for: each has a clock anchor
// of its own.
inline constexpr double kClockSlack = 0.01;  // s

enum class RunEnd : std::uint8_t { kRunning, kFinished, kFailed, kInterrupted };
std::string_view run_end_name(RunEnd end);
// The class of a run's outcome, as a plan counts it: a run that its limit or its workload's end
// stopped is finished. "running" is one, too.
RunEnd run_end_of(std::string_view outcome);

struct WorkflowRun {
  std::string id, name, host;
  Window time;          // to: the newest time while it runs
  std::string outcome;  // "finished", "failed", ..., "running"
  std::int64_t experiment = 0;
  std::string workload;            // as recorded: "7", the third repetition of several "7#3"
  int repetition = 1;              // the workload's
  std::vector<std::string> after;  // names of workloads of the same experiment
  std::string plan = {};           // its id; empty: none
  std::string row;                 // in its plan; the same for all attempts. Empty: none
  bool loop = false;               // starts again until its workload ends
};

enum class PathLink : std::uint8_t {
  kFirst,   // nothing ended before it
  kAfter,   // in a workload that it came After
  kRepeat,  // an earlier attempt of the same row
  kTurn,    // another run on its host
};
std::string_view path_link_name(PathLink link);

struct PathStep {
  std::size_t run = 0;
  PathLink link = PathLink::kFirst;  // to the step before
  double wait_s = 0;                 // since the end of the step before; since the begin
  double seconds = 0;
};

// From when a run could begin until it did. Ready: the workloads that it came After, and the
// earlier attempts of its row, had ended; without any, from the first run's begin on.
struct QueueWait {
  std::size_t run = 0;
  double seconds = 0;
};

// A host from its first run's begin to its last run's end.
struct HostUse {
  std::string host;
  double seconds = 0;
  double idle_s = 0;  // without a run
};

// Stages of a run's time. Everything but waits and unknown time comes from phases.
enum class Stage : std::uint8_t {
  kWait,         // before the run
  kPreparation,  // before the first step, but for the next two
  kTraining,
  kEvaluation,  // phases called evaluation
  kIo,          // phases of kind io, such as checkpoints
  kShutdown,    // after the last step, but for these
  kUnknown,     // runs without steps and epochs, or that were not read
};
inline constexpr std::size_t kStages = 7;
std::string_view stage_name(Stage stage);
using StageTimes = std::array<double, kStages>;  // s, by stage

// The stages of a run, as means over its training lanes; all unknown without any.
StageTimes stages_of_run(const Timeline& timeline, Window window);

struct Workflow {
  Window window;                      // from the first begin to the last end
  double makespan_s = 0;              // its length
  bool provisional = false;           // a run is running
  std::vector<PathStep> path;         // the earliest first
  double waiting_s = 0;               // on the path
  std::vector<QueueWait> queue;       // a plan's runs; the longest wait first
  std::vector<HostUse> hosts;         // by name
  std::array<std::size_t, 4> ends{};  // runs by RunEnd
  // By run: the next attempt of its row. Restarts of a loop are none.
  std::vector<std::optional<std::size_t>> repeated_by;
  double lost_s = 0;  // time of runs that failed or were interrupted
};

// `planned`: all runs of a plan, so that waits in its queue are known. kUnprocessable: workloads
// come after each other in a circle.
Result<Workflow> find_workflow(std::span<const WorkflowRun> runs, bool planned);

// The path's stages, which add up to the makespan. `runs`: by step of the path; nullopt: not read.
StageTimes stages_of_path(const Workflow& workflow,
                          std::span<const std::optional<StageTimes>> runs);

}  // namespace corral::analyze
