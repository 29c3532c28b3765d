// `corral run` as a supervisor of a plan's run: applies the scheduler's order to the flags.
//
// Options that the order does not give are taken from the environment and the configuration file,
// as ever. One thread.
#pragma once

#include <string>
#include <vector>

#include "cli/arguments.h"
#include "cli/destination.h"
#include "cli/run_plan.h"
#include "run/options.h"
#include "run/supervisor_order.h"

namespace corral::cli {

// Flags of `corral run`. complete() in run.cpp checks them and turns them into `options`.
struct RunFlags {
  run::Options options;
  DestinationFlags destination;
  std::vector<std::string> params;
  std::vector<std::string> tags;
  std::string experiment;
  std::string listeners;
  std::string dcgm_address;
  std::string profile;
  std::string leftovers = "leave";
  bool no_listeners = false;
  bool capture_mlflow = false;
  bool no_mlflow = false;
  bool no_capture = false;
  bool no_mask = false;
  bool no_pty = false;
  std::string watch;
  Nanos max_time = kNoDuration;
  std::string keep_code = "10MiB";
  PlanFlags plan;
  // Hidden flags of a scheduler.
  std::string order_fd;
  std::string run_id;
  std::string gate;
  std::string last_word;
  std::string cgroup;
  std::string affinity;
  std::string directory;
};

// Declares the hidden flags.
void declare_scheduled(Arguments& arguments, RunFlags& flags);
// Reads the document behind --order-fd into the flags; nothing without that flag.
Result<> take_order(RunFlags& flags);
// Checks the other hidden flags and fills the options with them.
Result<> complete_scheduled(RunFlags& flags);
// The settings that the supervisors of an experiment file's runs inherit. `flags` are complete.
run::RunSettings settings_of(const RunFlags& flags);
// Returns the reason why `corral run` would refuse this variable; empty if it would not.
std::string run_variable_problem(const std::string& name, const std::string& value);
// Empty stays empty.
std::string absolute_path(const std::string& path);

}  // namespace corral::cli
