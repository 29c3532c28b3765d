// UnitValue: what a comparison counts once: a run, or the runs of a group that were beside each
// other in one workload, because runs that disturbed each other do not repeat one another. It has
// one positive number, and for times of steps the parts that this is made of.
//
// Values are measured over the run's steady part (analyze/explain/steady.h), those of several runs
// over the time in which all of them were steady. A run that started again until its workload ended
// counts with the round that was longest beside the others; for times to a target, with none. A run
// that failed or was interrupted has no value, and says so, but for times to a target, which it
// reached or missed until it ended. One that its limit of time or its workload ended has a value,
// but for its duration and last values. An imported run of which nobody knows how it ended has the
// values of its metrics, and is marked.
// Sources: the store, a few snapshots for each run. Any thread.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "analyze/compare/target.h"
#include "analyze/explain/run_data.h"
#include "analyze/explain/steady.h"
#include "analyze/left.h"
#include "core/result.h"
#include "store/reader.h"

namespace corral::analyze {

struct ComparedValue {
  enum class Kind : std::uint8_t {
    kStepTime,  // time per step, or per epoch in a run without steps; without what lies apart
    kDuration,  // from the run's begin to its end
    kMetric,
    kTarget  // from the run's begin to the first value that meets the target
  };
  enum class Of : std::uint8_t { kMean, kLeast, kMost, kLast };
  Kind kind = Kind::kStepTime;
  std::string metric;  // kMetric: its name
  Of of = Of::kMean;   // kMetric: over the steady part; kLast: the run's last finite value
  Target target = {};
};
// "time per step", "mean over time of host.gpu.power".
std::string describe(const ComparedValue& value);

// Time per step that one type of leaf takes.
struct TimePerStep {
  std::string name, type;  // as TimePart; empty type: in no phase
  double seconds = 0;
  bool apart = false;  // checkpoint, evaluation or compilation: not part of the value
};

struct UnitRun {
  RunId id;
  std::string name, host;
  store::RunStatus status = store::RunStatus::kFinished;
  std::optional<double> step_s = {};  // its own time per step, if that is the unit's value
  std::size_t steps = 0;              // all that ended, before its steady part and in it
  std::string unsteady = {};          // why it has no steady part; empty: it has
  bool left_out = false;              // another round of it counts
  bool unknown_end = false;           // it was imported, and nobody knows how it ended
  std::string uncaptured = {};  // a part of the capture that it lacks, with the reason; empty: none
};

struct UnitValue {
  std::string name;                // the run's, or the workload's
  std::string block;               // its plan, and which of the plan's blocks; empty: in none
  std::vector<UnitRun> runs;       // those that are left out come last
  UtcTime start;                   // the first run's
  std::size_t beside = 0;          // other runs of its workload that overlapped with it
  std::optional<double> value;     // above 0
  std::string reason;              // why there is none
  std::optional<double> measured;  // a finite value that is not above 0
  std::optional<double> missed_s;  // it tried to reach the target for so long, and has no value
  std::string unit;                // "s/step", "W"
  Window window;                   // that it is measured over
  double stall = 0;                // the longest step by the median one; 0: not known
  std::vector<TimePerStep> parts;  // one run's time per step, untracked time too
  RunData means;                   // one run's, over the window
};

// A group by name, with its runs and all their facts.
struct GroupRuns {
  std::string name;
  std::vector<store::Run> runs;
};

struct UnitOptions {
  ComparedValue value;
  std::span<const std::string_view> means = {};  // metrics to read beside it
  Left left = {};
};

// The units of one group's runs, in the order of their starts.
Result<std::vector<UnitValue>> read_units(const store::Reader& store,
                                          std::span<const store::Run> runs,
                                          const UnitOptions& options);

// A value in another unit has none, with that reason.
void drop_other_unit(UnitValue& value, const std::string& unit);

}  // namespace corral::analyze
