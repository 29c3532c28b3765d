// Progress: a plan as a few lines of text for a terminal. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/time.h"
#include "run/schedule/plan_document.h"

namespace corral::run::schedule {

struct ProgressRun {
  std::string name;
  std::string state;
  std::optional<Nanos> elapsed;
};
struct ProgressView {
  PlanDocument::Counts counts;
  std::string now;                 // "7: running", "waiting: GPU 0 is 84 C"
  std::optional<Nanos> remaining;  // estimate for the plan
  std::vector<ProgressRun> runs;   // of the workload that is running
};
// One line for the plan and one for each run, none longer than `width` characters.
std::vector<std::string> progress_lines(const ProgressView& view, std::size_t width);

// From the workloads that took `spent` together, each as long as another: the time for `left` more.
std::optional<Nanos> estimate(Nanos spent, std::size_t done, std::size_t left);

}  // namespace corral::run::schedule
