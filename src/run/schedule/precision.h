// Precision: how narrow the intervals are in which the workloads of a plan are compared, for plans
// that repeat a block at a time until they are narrow enough (docs/running-plans.md).
//
// The server compares (POST /compare): the first workload is the baseline. Only the widths of
// intervals count, never a verdict, which repeated looks would make too frequent.
#pragma once

#include <string>
#include <vector>

#include "core/json.h"
#include "upload/server_link.h"

namespace corral::run::schedule {

// As many as the server compares at once.
inline constexpr std::size_t kMostRepeatedWorkloads = 100;
inline constexpr std::size_t kMostRepeatedRuns = 2000;

// A workload with the runs of all of its repetitions.
struct RepeatedWorkload {
  std::string label;              // "E/7"
  std::vector<std::string> runs;  // ids
};

struct PrecisionGoal {
  double half_width = 0;  // 0.02: the interval is narrower than from 1 / 1.02 to 1.02 times
  std::string value;      // "step_time", "duration" or a metric
};

struct Precision {
  enum class State : std::uint8_t {
    kNarrow,    // each interval is narrow enough
    kWide,      // one more block may help
    kHopeless,  // no number of blocks would
    kWaits,     // the server does not know the end of all runs yet, or does not answer
  };
  State state = State::kWaits;
  std::string words = {};  // a sentence without its end
};

// Judges an answer of POST /compare. Pure.
Precision judge_precision(const Json& comparison, const PrecisionGoal& goal);

class PrecisionQuestion {
 public:
  PrecisionQuestion(upload::LinkOptions link, PrecisionGoal goal)
      : link_(std::move(link)), goal_(std::move(goal)) {}
  // Blocks for at most some minutes.
  Precision ask(const std::vector<RepeatedWorkload>& workloads);

 private:
  upload::ServerLink link_;
  PrecisionGoal goal_;
};

}  // namespace corral::run::schedule
