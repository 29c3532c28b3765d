// MPS control: runs commands of nvidia-cuda-mps-control, found in PATH: one process per command,
// with a time limit.
#pragma once

#include <string>
#include <vector>

#include "core/result.h"
#include "core/time.h"
#include "sys/file.h"

namespace corral::collocate::nvidia {

namespace fs = std::filesystem;

struct MpsCommand {
  std::string program;  // empty: nvidia-cuda-mps-control
  fs::path pipe;        // CUDA_MPS_PIPE_DIRECTORY
  fs::path log;         // CUDA_MPS_LOG_DIRECTORY
  // Further environment of the program, "NAME=value"; it does not see the CUDA_ variables of this
  // process.
  std::vector<std::string> environment;
  std::vector<std::string> arguments;
  std::string input;  // its standard input
  Nanos limit{std::chrono::seconds(10)};
};
// Returns the program's output. kNotFound: there is no such program; kUnavailable: it was killed at
// the time limit; kIo: it failed, with its output.
Result<std::string> run_mps_control(const MpsCommand& command);

}  // namespace corral::collocate::nvidia
