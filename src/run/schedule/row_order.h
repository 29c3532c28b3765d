// Turns a row of a plan into the order for its supervisor.
#pragma once

#include <string>
#include <vector>

#include "collocate/stage.h"
#include "plan/plan.h"
#include "run/schedule/launcher.h"

namespace corral::run::schedule {

// Facts and options that all runs of a plan share.
struct PlanFacts {
  std::string id;                   // plan::plan_id
  std::string file;                 // its name
  std::filesystem::path directory;  // folder of the file, in which the runs work
  // The scheduler's own options, for all its runs. A row's parameters and tags come after these; a
  // row's settings override these.
  plan::Pairs params{};
  plan::Pairs tags{};
  RunSettings settings{};
  // "NAME=value": the store, server and configuration file, which commands use, too.
  std::vector<std::string> environment{};
  // Folder below which runs of a workload wait for each other; empty: none.
  std::filesystem::path ready{};
};

struct PlannedRun {
  const plan::Workload& workload;
  const plan::Row& row;
  const collocate::Seat& seat;
  std::string run;       // its id
  std::string parent;    // first run of the workload; empty for that run itself
  bool restart = false;  // a loop's next run, which starts at once
};

// Returns the name that the run is recorded, shown and found by: the row's own, which all
// repetitions share, else radT's "(7 0_A) train", of workload, letter and script.
std::string recorded_name(const plan::Workload& workload, const plan::Row& row);
// Returns the folder in which the runs of the workload that begins with run `first` note that they
// are ready (corral.ready()).
std::filesystem::path ready_directory(const PlanFacts& plan, const std::string& first);
// Returns the folder in which a script outside of the plan's folder starts: its own, as with radT.
// Programs, MLprojects and containers start in the plan's folder, which is mounted; the result is
// empty for them.
std::filesystem::path own_directory(const std::filesystem::path& of_plan, const plan::Row& row);
// Returns the tags that describe the run's place in its plan.
plan::Pairs plan_tags(const PlanFacts& plan, const PlannedRun& place);
Order make_order(const PlanFacts& plan, const PlannedRun& place);
// Returns the order for a supervisor that adopts a run whose supervisor was killed.
Order make_adoption_order(const PlanFacts& plan, const std::string& run,
                          const plan::Limits& limits);

}  // namespace corral::run::schedule
