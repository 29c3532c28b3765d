// Turns a row of a plan into the order for its supervisor.
#pragma once

#include <string>
#include <vector>

#include "collocate/stage.h"
#include "plan/plan.h"
#include "run/schedule/launcher.h"

namespace corral::run::schedule {

// What all runs of a plan have in common.
struct PlanFacts {
  std::string id;                   // plan::plan_id
  std::string file;                 // its name
  std::filesystem::path directory;  // where its runs work: the file's folder
  // The scheduler's own options, for all its runs. A row's parameters and tags come after these; a
  // row's settings override these.
  plan::Pairs params{};
  plan::Pairs tags{};
  RunSettings settings{};
  // "NAME=value": the store, server and configuration file, which commands use, too.
  std::vector<std::string> environment{};
  std::filesystem::path ready{};  // below it runs of a workload wait for each other; empty: nowhere
};

struct RunPlace {
  const plan::Workload& workload;
  const plan::Row& row;
  const collocate::Seat& seat;
  std::string run;       // its id
  std::string parent;    // run that the workload was begun with first; empty for that one itself
  bool restart = false;  // of a loop: starts at once
};

// The row's own name, else one of workload, letter and script: "(7 0_A) train".
std::string run_name_of(const plan::Workload& workload, const plan::Row& row);
// As the run is recorded: "(7 0_A) train", of a row with a name "(7 0_A) name".
std::string recorded_name_of(const plan::Workload& workload, const plan::Row& row);
// Where the runs of the workload whose first is `first` say that they are ready (corral.ready()).
std::filesystem::path ready_place(const PlanFacts& plan, const std::string& first);
// Where a script starts that is not in the plan's folder: as with radT, in its own. Programs, and
// what an MLproject or a container runs, start in the plan's: that is what is mounted. Empty:
// there.
std::filesystem::path own_directory(const std::filesystem::path& of_plan, const plan::Row& row);
// Everything that the store is to know of the run's place in its plan.
plan::Pairs tags_of(const PlanFacts& plan, const RunPlace& place);
Order order_of(const PlanFacts& plan, const RunPlace& place);
// A supervisor that takes over a run whose own was killed.
Order adoption_of(const PlanFacts& plan, const std::string& run, const plan::Limits& limits);

}  // namespace corral::run::schedule
