// Rerun plan: the steps of `corral rerun`, made from the server's answers about a run and from this
// machine's state. Nothing is changed. The server's answers are not trusted.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "cli/kept_code.h"
#include "cli/recorded_command.h"
#include "cli/rerun_environment.h"
#include "core/json.h"
#include "core/result.h"

namespace corral::cli {

struct RerunWish {
  std::filesystem::path directory{};  // the new one, absolute
  std::string name{};                 // empty: the run's
  std::string repository{};           // path or address; empty: the recorded one
};

struct RerunPlan {
  std::string id{}, name{}, experiment{}, host{};
  KeptCode code{};
  std::filesystem::path directory{};   // absolute
  std::filesystem::path work{};        // the command's working directory: `directory` or below it
  std::vector<std::string> sources{};  // git repositories; empty when the kept files are whole
  std::vector<std::string> command{};  // secrets still masked
  std::vector<Masked> masked{};        // the secrets of command and variables, each once
  std::vector<Variable> variables{};
  std::vector<std::pair<std::string, std::string>> params{}, tags{};  // those of the command line
  std::vector<std::string> notes{};  // differences and missing parts
};

// `run` as the API describes it, `list` its corral/code.json. kUnprocessable for a run that cannot
// be run again, with the reason.
Result<RerunPlan> plan_rerun(const Json& run, const Json& list, const RerunWish& wish);

struct DataLook {
  bool restored = false;  // the code is there; else data that is to come with it is not asked for
  std::function<bool()> stop{};  // polled
};
// Compares the data that the command gets by path with the record; returns a line for each
// difference. Reads all of the data if its hash was recorded.
std::vector<std::string> data_differences(const Json& info, const RerunPlan& plan,
                                          const DataLook& look);

}  // namespace corral::cli
