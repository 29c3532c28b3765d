// Recognizes radT's runs and sorts them: experiment > workload > run.
//
// radT logs the params of a run's row in the plan in one batch: workload, letter, listeners. The
// run's name already is "(<workload> <letter>) <name>".
// Pure.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <utility>

namespace corral::mlflow {

struct RadtRun {
  std::string workload;  // as the plan names it: the rows that start together
  std::string letter;    // "0", "1_A", "0_3g.20gb": devices and collocation
};

// Returns nullopt if these are not the params of a radT run: a script may have its own param
// "workload".
std::optional<RadtRun> radt_run(std::span<const std::pair<std::string, std::string>> params);

}  // namespace corral::mlflow
