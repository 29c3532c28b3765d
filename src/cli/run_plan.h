// `corral run plan.csv`: the options of an experiment file's scheduler, its parts wired, and the
// facts about this machine and program that plans are checked against.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "cli/arguments.h"
#include "plan/known.h"
#include "run/options.h"
#include "run/supervisor_order.h"

namespace corral::cli {

struct PlanFlags {
  bool rerun = false;
  bool dry_run = false;
  bool take_over = false;
  bool fail_fast = false;
  std::vector<std::string> only;
  std::vector<std::string> skip;
  std::string shuffle;
  std::string until;
  std::string until_interval, interval_of, most_blocks;
  std::string quiet_check = "off";
  std::string notify;
  std::string slurm;       // options of sbatch: each workload runs in a job
  std::string slurm_part;  // directory of the part that this job runs
  Nanos cool_down{0};
};
void declare_plan(Arguments& arguments, PlanFlags& flags);
bool is_plan_file(std::string_view word);

struct PlanCommand {
  const PlanFlags& flags;
  const run::Options& options;  // completed
  run::RunSettings settings;
  // CORRAL_… variables with the destination and the configuration file.
  std::vector<std::pair<std::string, std::string>> variables;
  std::vector<std::string> words;  // as they were given behind `corral run`
};
// The exit status.
int run_plan(const PlanCommand& command);

// Listeners, environments, files, PATH, CPUs and, when `devices` are to be looked for, the GPUs
// that the driver's library (CORRAL_NVML_LIBRARY in place of the system's) tells of. Without a
// driver there are none. Asking a driver may take a second.
plan::Known known_here(bool devices = true);

// Returns the reason why `corral run` would refuse this variable; empty if it would not.
std::string run_variable_problem(const std::string& name, const std::string& value);

}  // namespace corral::cli
