// The environment of a rerun: the recorded one, else the interpreter here if it has the same
// version and packages, else one that is built from the recorded packages.
#pragma once

#include <string>
#include <vector>

#include "core/json.h"
#include "core/result.h"
#include "environment/environment.h"

namespace corral::cli {

// Beside the restored code; environments of --environment uv=… are built from it.
inline constexpr const char* kRecordedRequirements = "corral-requirements.txt";

struct RerunEnvironment {
  std::string spec{};                // a value of --environment; empty: as in this shell
  std::string text{};                // for people
  std::string requirements{};        // to be written as kRecordedRequirements; empty: nothing
  std::vector<std::string> notes{};  // differences, for people
};

struct EnvironmentWish {
  std::string spec{};                 // chosen by the user; empty: none
  bool any = false;                   // differences are accepted
  environment::fs::path directory{};  // the command's working directory: relative names start there
  bool restored = false;              // the code is there
};

// `info`: the run's facts. kUnprocessable when the recorded environment cannot be had here, with
// the differences.
Result<RerunEnvironment> choose_environment(const Json& info, const EnvironmentWish& wish,
                                            const environment::PrepareOptions& options);

// Lines "name==version" of the two that do not agree, for people: "numpy 1.26.4, here 2.0".
// Spellings of one name (`_`, `.`, `-`, case) are the same.
std::vector<std::string> package_differences(std::string_view recorded, std::string_view here);

}  // namespace corral::cli
