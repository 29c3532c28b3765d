// A recorded command with its variables, and those of a run that repeats it. Masked values are
// found and filled in, paths below the old root become paths below the new one, and variables that
// belong to the old host are left out. Pure.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/result.h"

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
Result<std::vector<std::string>> filled(std::vector<std::string> words, const Secrets& secrets);

struct Move {
  std::string from{}, to{};      // absolute
  std::set<std::string> stay{};  // paths below `from` that are meant as they are
};
// A path below `from`, also behind the '=' of "--out=…".
std::string moved(const std::string& word, const Move& move);

struct Variable {
  std::string name{}, value{};
  std::string left_out{};  // why it is not set; empty: it is
};
// Parses the recorded lines "NAME=value".
std::vector<Variable> rerun_variables(std::string_view lines, const Move& move);

}  // namespace corral::cli
