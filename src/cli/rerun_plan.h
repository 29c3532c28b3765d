// The steps of `corral rerun`, made from the server's answers about a run and from this machine's
// state. Nothing is changed. The server's answers are not trusted.
//
// In the recorded command and its variables, masked values are found and filled in, paths
// below the old root become paths below the new one, and variables that belong to the old host are
// left out. The environment is the recorded one, else the interpreter here if it has the same
// version and packages, else one that is built from the recorded packages.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/kept_code.h"
#include "core/json.h"
#include "core/result.h"
#include "environment/environment.h"

namespace corral::cli {

// A secret that was recorded as "***".
struct Masked {
  std::string variable{};  // API_KEY of "--api-key ***"; empty: its place has no name
  std::string where{};     // for people: the word, or the option before it
  bool operator==(const Masked&) const = default;
  bool operator<(const Masked& other) const {
    return std::pair(variable, where) < std::pair(other.variable, other.where);
  }
};
using Secrets = std::map<Masked, std::string>;

// "--api-key", "apiKey" -> "API_KEY"
std::string variable_of_option(std::string_view option);

// In the order of the words; the same one twice is there twice.
std::vector<Masked> masked_in(const std::vector<std::string>& words);
// kUnprocessable when one is not among the secrets.
Result<std::vector<std::string>> fill_secrets(std::vector<std::string> words,
                                              const Secrets& secrets);

struct Move {
  std::string from{}, to{};      // absolute
  std::set<std::string> stay{};  // paths below `from` that are meant as they are
};
// A path below `from`, also behind the '=' of "--out=…".
std::string moved_path(const std::string& word, const Move& move);

struct Variable {
  std::string name{}, value{};
  std::string left_out{};  // why it is not set; empty: it is
};
// Parses the recorded lines "NAME=value".
std::vector<Variable> rerun_variables(std::string_view lines, const Move& move);

// Beside the restored code; environments of --environment uv=… are built from it.
inline constexpr const char* kRecordedRequirements = "corral-requirements.txt";

struct RerunEnvironment {
  std::string spec{};                // a value of --environment; empty: as in this shell
  std::string text{};                // for people
  std::string requirements{};        // to be written as kRecordedRequirements; empty: nothing
  std::vector<std::string> notes{};  // differences, for people
};

struct EnvironmentRequest {
  std::string spec{};                 // chosen by the user; empty: none
  bool any = false;                   // differences are accepted
  environment::fs::path directory{};  // the command's working directory: relative names start there
  bool restored = false;              // the code is there
};

// `info`: the run's facts. kUnprocessable when the recorded environment cannot be had here, with
// the differences.
Result<RerunEnvironment> choose_environment(const Json& info, const EnvironmentRequest& request,
                                            const environment::PrepareOptions& options);

// Lines "name==version" of the two that do not agree, for people: "numpy 1.26.4, here 2.0".
// Spellings of one name (`_`, `.`, `-`, case) are the same.
std::vector<std::string> package_differences(std::string_view recorded, std::string_view here);

struct RerunRequest {
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
Result<RerunPlan> plan_rerun(const Json& run, const Json& list, const RerunRequest& request);

struct DataCheck {
  bool restored = false;  // the code is there; else data that is to come with it is not asked for
  std::function<bool()> stop{};  // polled
};
// Compares the data that the command gets by path with the record; returns a line for each
// difference. Reads all of the data if its hash was recorded.
std::vector<std::string> data_differences(const Json& info, const RerunPlan& plan,
                                          const DataCheck& check);

}  // namespace corral::cli
