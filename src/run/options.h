// Options: everything `corral run` was asked to do. cli/ makes them from flags, environment and
// configuration file.
#pragma once

#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "collect/foreign/config.h"
#include "core/ids.h"
#include "core/limits.h"
#include "core/time.h"
#include "run/gate.h"
#include "run/placement.h"
#include "run/profiler.h"
#include "spool/run_directory.h"

namespace corral::run {

// The treatment of processes that outlive the command.
enum class Leftovers { kLeave, kWait };

// The destination of the command's MLflow calls.
enum class Mlflow {
  kUnlessSet,  // to Corral, unless MLFLOW_TRACKING_URI is set
  kCapture,    // to Corral in any case
  kOff,
};

struct Options {
  std::vector<std::string> command;  // as typed: train.py with arguments, or any command
  // The folder in which the command starts, relative to this one; empty: this one.
  spool::fs::path directory;
  std::string lacking;  // reason why the command can only run unrecorded; empty: it can be recorded
  std::string python;   // interpreter for a .py file; empty: $CORRAL_PYTHON, else python3
  spool::Destination destination;
  std::string token;
  std::string experiment = "default";
  bool experiment_chosen = false;  // by a flag, the environment or the configuration file
  std::string workload;            // empty: the run is a workload of its own
  std::string name;                // empty: one is made
  std::vector<std::pair<std::string, std::string>> params;
  std::vector<std::pair<std::string, std::string>> tags;
  std::vector<std::string> listeners;
  std::string device_library;  // replaces the system's NVIDIA library; for tests
  collect::foreign::Sources sources;
  Nanos interval{std::chrono::milliseconds(100)};
  std::optional<Nanos> max_time;
  Nanos grace{std::chrono::seconds(10)};  // between SIGINT and SIGTERM
  Leftovers leftovers = Leftovers::kLeave;
  Mlflow mlflow = Mlflow::kUnlessSet;
  bool mask = true;  // masks secrets in the recorded command, code and variables
  // Most bytes of code that are copied; 0: only hashes are kept.
  std::int64_t keep_code = 10ll << 20;
  // Directory below which the command writes TensorBoard's event files, from its start folder;
  // empty: they are not read.
  spool::fs::path tensorboard;
  bool hash_data = false;  // the files behind options with "data" in their name
  bool capture = true;     // the Python package captures training loops
  std::string max_epochs;  // for the Python package's helpers; a whole number; empty: no limit
  std::string max_steps;
  std::optional<ProfilePlan> profile;
  // A process that is sampled instead of the command, which waits for its end (corral.init()); 0:
  // none.
  std::int64_t watched = 0;
  std::string environment;  // environment of the command (environment::parse); empty: this one
  std::string adopt;        // id of a run whose supervisor is gone; empty: the command is started
  // Key of a job whose processes record one run; "none": this process is alone. Empty: as the
  // launcher says.
  std::string job;
  // The place among the processes of a job, once it is known (run/job.h).
  std::optional<spool::Member> member;
  bool leads = true;  // records what is the same for all of them
  // Set by a scheduler (run/schedule), or by a job.
  std::optional<RunId> run_id;  // nullopt: one is made
  GateOptions gate;
  Placement placement;
  std::vector<std::string> passed;  // names of variables that are passed into a container
  bool pty = true;                  // at a terminal the command gets one of its own
  bool quiet = false;
  std::int64_t spool_limit = limits::kSpoolBytes;
  spool::fs::path spool;        // empty: chosen (spool_roots)
  spool::fs::path program;      // this binary: starts the store's server
  spool::fs::path python_path;  // directory that holds the Python package; empty: none was found
};

// Returns the absolute path of the command's folder.
inline spool::fs::path start_folder(const Options& options) {
  std::error_code error;
  const spool::fs::path here = spool::fs::current_path(error);
  return options.directory.empty() ? here : (here / options.directory).lexically_normal();
}

}  // namespace corral::run
