// Progress: a plan as a few lines of text for a terminal. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/time.h"
#include "run/schedule/member.h"
#include "run/schedule/plan_document.h"

namespace corral::run::schedule {

// What is not known is left empty.
struct ProgressRun {
  std::string name;
  std::string state;
  std::string phase{};
  std::optional<std::int64_t> step{};
  std::optional<double> loss{};
  std::optional<double> gpu{};  // share of time that its GPUs were busy
  std::optional<double> cores{};
  std::optional<Nanos> elapsed{};
};
// `beside`: the runs of its workload, of which one samples the devices of all.
ProgressRun progress_run(const Member& member, std::span<const Member> beside, BootTime now);

struct ProgressView {
  PlanDocument::Counts counts;
  std::string now;                 // "7: running", "waiting: GPU 0 is 84 C"
  std::optional<Nanos> remaining;  // estimate for the plan
  std::vector<ProgressRun> runs;   // of the workload that is running
};
// One line for the plan and one for each run, none longer than `width` characters. Values stand
// below each other; where there is no room for all, the name gives way first, then the right ones.
std::vector<std::string> progress_lines(const ProgressView& view, std::size_t width);

// "epoch 3, step 1200, loss 0.3142, GPU 97 %, 12:04"; of what is known.
std::string progress_words(const ProgressRun& run);

// Workloads that have ended, and what they took together.
struct Pace {
  Nanos spent{0};
  std::size_t done = 0;
};
struct Remaining {
  Nanos all{0};    // with the workload that is to run next, or runs
  Nanos later{0};  // without it
};
// Each of `left` workloads as long as another, with `pause` between two of them; nothing before one
// has ended.
std::optional<Remaining> estimate(const Pace& pace, std::size_t left, Nanos pause);
// Once the first of them has run so long.
Nanos remaining_after(const Remaining& remaining, Nanos ran);

}  // namespace corral::run::schedule
