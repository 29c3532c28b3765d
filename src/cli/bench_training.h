// The training that `corral bench listeners` measures around: the user's command, else a small one
// of its own with the best of PyTorch, NumPy and neither that is there.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "cli/bench_child.h"
#include "core/result.h"
#include "core/time.h"

namespace corral::cli {

struct Training {
  std::string about;                 // one line, for the report
  std::vector<std::string> command;  // the same in each run
  double expected_s = 0;             // measured length of one run
};

struct TrainingOptions {
  std::vector<std::string> command;  // the user's; empty: one of ours
  std::string kind = "auto";         // our training's kind: auto, torch, numpy, loop
  Nanos length{};                    // target length of a run of our training
  std::vector<std::string> environment;
  std::filesystem::path directory;  // for its files
};

// $CORRAL_PYTHON, else python3.
std::string python_program();
// Fails with the reason unless that Python can import all the modules (comma-separated).
Result<> can_import(const std::string& python, const std::string& modules);

// Chooses the training and runs it once, which warms the machine's caches and measures its length;
// our own training is then scaled to the requested length. kInvalidArgument if the command cannot
// be run.
Result<Training> prepare_training(const TrainingOptions& options, Interrupts& interrupts);

// Returns the command with the words before it that measure it.
std::vector<std::string> measured(const std::filesystem::path& file,
                                  const std::vector<std::string>& command);

// The error has the status, and the last line that the command wrote to `errors`.
Error ended_badly(int wait_status, const std::filesystem::path& errors);

}  // namespace corral::cli
