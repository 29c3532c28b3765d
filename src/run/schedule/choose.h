// Choice of a plan's next workload: radT's rules for skipping, the options of the command line, and
// dependencies between workloads. Pure.
//
// A workload is done when every run of it has finished, or failed without --rerun; otherwise the
// whole of it runs. Nothing is begun twice by one scheduler.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "plan/plan.h"
#include "run/schedule/book.h"

namespace corral::run::schedule {

struct Selection {
  bool rerun = false;             // runs that failed before run again
  std::vector<std::string> only;  // patterns of a workload's name or "experiment/name"; empty: all
  std::vector<std::string> skip;
  std::optional<std::uint64_t> shuffle;  // seed of the order within each repetition
};

// Names one repetition of a workload, the same after each re-read of the file.
std::string workload_label(const plan::Workload& workload);  // "E/7", "E/7#2"

bool is_selected(const plan::Workload& workload, const Selection& selection);

enum class Verdict {
  kRun,
  kFinished,     // nothing is left to do
  kFailed,       // failed before, or in this session
  kNotSelected,  // by --only or --skip
  kWaits,        // for another workload that has not run yet
  kBlocked,      // by another workload that will not finish
};

struct Choice {
  std::size_t workload = 0;  // index in the given list
  Verdict verdict = Verdict::kRun;
  std::string reason;  // for kBlocked and kWaits: "after 3, which failed"
};

// Returns a choice for each workload, in the order of the runs (the file's, or the seed's). `begun`
// holds the runs (row key and repetition) that this scheduler has begun already.
using Begun = std::set<std::pair<std::string, int>>;
std::vector<Choice> judge(const std::vector<plan::Workload>& workloads, const Book& book,
                          const Selection& selection, const Begun& begun);

}  // namespace corral::run::schedule
