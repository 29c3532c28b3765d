#include "environment/conda.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <set>

#include "core/json.h"
#include "core/text.h"

namespace corral::environment {

std::string conda_package(std::string_view file) {
  if (!file.ends_with(".json")) return "";
  file.remove_suffix(5);
  const std::size_t build = file.rfind('-');
  if (build == std::string_view::npos || build == 0) return "";
  const std::size_t version = file.rfind('-', build - 1);
  if (version == std::string_view::npos || version == 0) return "";
  return fmt::format("{}=={}={}", file.substr(0, version),
                     file.substr(version + 1, build - version - 1), file.substr(build + 1));
}

Result<fs::path> conda_prefix(std::string_view listing, const std::string& name) {
  const auto json = Json::parse(listing);
  const Json* all = json ? json->find("envs") : nullptr;
  if (all == nullptr || all->as_array() == nullptr)
    return fail(Code::kUnprocessable, "its list of environments cannot be read");
  std::string near;
  std::size_t least = 3;
  for (const Json& one : *all->as_array()) {
    if (one.as_string() == nullptr) continue;
    const fs::path prefix = *one.as_string();
    const bool root = &one == all->as_array()->data();
    const std::string called =
        root && prefix.parent_path().filename() != "envs" ? "base" : prefix.filename().string();
    if (called == name) return prefix;
    if (const std::size_t edits = edit_distance(called, name); edits < least) {
      least = edits;
      near = called;
    }
  }
  return fail(Code::kNotFound, fmt::format("no conda environment named {}; {}", name,
                                           near.empty() ? "`conda env list` shows the existing ones"
                                                        : "did you mean " + near + "?"));
}

std::vector<std::string> conda_variables(std::string_view state) {
  std::vector<std::string> variables;
  const auto json = Json::parse(state);
  const Json* all = json ? json->find("env_vars") : nullptr;
  if (all == nullptr || all->as_object() == nullptr) return variables;
  for (const auto& [name, value] : *all->as_object())
    if (value.as_string() != nullptr) variables.push_back(name + "=" + *value.as_string());
  return variables;
}

std::vector<std::string> changed_variables(std::string_view before, std::string_view after) {
  constexpr std::array<std::string_view, 5> kOfShell{"_", "SHLVL", "PWD", "OLDPWD", "SHELLOPTS"};
  const std::vector<std::string_view> old = split(before, '\0');
  const std::set<std::string_view> known(old.begin(), old.end());
  std::vector<std::string> changed;
  for (const std::string_view entry : split(after, '\0')) {
    const std::size_t equals = entry.find('=');
    if (equals == std::string_view::npos || equals == 0 || known.contains(entry)) continue;
    if (std::ranges::count(kOfShell, entry.substr(0, equals)) == 0) changed.emplace_back(entry);
  }
  return changed;
}

}  // namespace corral::environment
