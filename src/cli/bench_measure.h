// Measures one run of a training.
//
// `corral bench measure FILE COMMAND` runs between the training and the process that starts it (the
// benchmark, or `corral run`). It does so in both runs of a pair, so that both are timed alike:
// from the start of the command to its end, without the tool around it. It writes FILE.
// $CORRAL_BENCH_STEPS names the file to which the command may write the time of each of its steps,
// in seconds, one a line.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

#include "core/result.h"

namespace corral::cli {

inline constexpr const char* kStepsVariable = "CORRAL_BENCH_STEPS";

struct Measurement {
  double wall_s = 0;
  double cpu_s = 0;             // used by the command and the children that it waited for
  double own_cpu_s = 0;         // used by `corral bench measure` itself
  std::int64_t peak_bytes = 0;  // resident, the largest of its processes
  std::int64_t written_bytes = 0;
  std::vector<double> steps_s = {};  // empty: not known
};

// Reads the measurement of a command that has ended.
Result<Measurement> read_measurement(const std::filesystem::path& file);

// The p-quantile by the nearest rank; nothing of no values.
std::optional<double> quantile_of(std::vector<double> values, double p);

// Bytes that the process and its children that are over handed to write calls.
std::int64_t bytes_written_by(const std::filesystem::path& proc_directory);

}  // namespace corral::cli
