// Measures one run of a training.
//
// `corral bench measure FILE COMMAND` stands between whoever starts the training (the benchmark, or
// `corral run`) and the training itself, on both sides of a pair, so that the same is timed on
// both: from the start of the command to its end, and nothing of the tool around it. It writes
// FILE. The command finds in $CORRAL_BENCH_STEPS where it may write the time of each of its steps,
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
  double cpu_s = 0;             // of the command and the children that it waited for
  double own_cpu_s = 0;         // of `corral bench measure` itself
  std::int64_t peak_bytes = 0;  // resident, of the largest of its processes
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
