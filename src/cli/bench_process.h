// The processes of `corral bench listeners`: starting and measuring one, and the verbs that it
// starts as processes of their own.
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
#include <span>
#include <string>
#include <vector>

#include "core/result.h"

namespace corral::cli {

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
std::optional<double> quantile(std::vector<double> values, double p);

// `corral bench measure FILE COMMAND` runs the command, writes a Measurement to FILE and returns
// the command's exit status.
int bench_measure(std::span<char* const> args);

// `corral bench loop STEPS`, a stand-in for a training: so many steps of the same work, about a
// millisecond each, in one thread; their times go to the file $CORRAL_BENCH_STEPS.
int bench_loop(std::span<char* const> args);

// `corral bench burn SHARE`: burns that share of one processor until a signal ends it. The
// benchmark must detect it.
int bench_burn(std::span<char* const> args);

}  // namespace corral::cli
