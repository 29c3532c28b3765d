// Which workload of a plan comes next: radT's rules for what is skipped, the options of the command
// line, and what a workload waits for. Pure.
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
  bool rerun = false;             // what failed before runs again
  std::vector<std::string> only;  // patterns of a workload's name or "experiment/name"; empty: all
  std::vector<std::string> skip;
  std::optional<std::uint64_t> shuffle;  // seed of the order
};

// Names a workload of a plan over re-reads of the file, one repetition of it.
std::string workload_label(const plan::Workload& workload);  // "E/7", "E/7#2"

enum class Verdict {
  kRun,
  kFinished,     // nothing is left to do
  kFailed,       // failed before, or in this session
  kNotSelected,  // by --only or --skip
  kWaits,        // for another workload that is still to be run
  kBlocked,      // by another workload that will not finish
};

struct Choice {
  std::size_t workload = 0;  // of the list that was given
  Verdict verdict = Verdict::kRun;
  std::string reason;  // of kBlocked and kWaits: "after 3, which failed"
};

// One for each workload, in the order in which they are to be run (the file's, or the seed's).
// `begun` holds the runs (row key and repetition) that this scheduler has begun already.
using Begun = std::set<std::pair<std::string, int>>;
std::vector<Choice> judge(const std::vector<plan::Workload>& workloads, const Book& book,
                          const Selection& selection, const Begun& begun);

}  // namespace corral::run::schedule
