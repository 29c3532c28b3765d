// Recognizes radT's runs and sorts them: experiment > workload > run.
//
// radT gives each run, in one batch, the params of its row of the plan: which workload it belongs
// to, under which letter, with which listeners. Its name is already "(<workload> <letter>) <name>".
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

// Nothing when these are not the params of a run of radT's: a script may well have a param
// "workload" of its own.
std::optional<RadtRun> radt_run(std::span<const std::pair<std::string, std::string>> params);

}  // namespace corral::mlflow
