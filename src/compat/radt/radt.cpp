#include "compat/radt/radt.h"

#include <algorithm>
#include <string_view>

#include "core/limits.h"

namespace corral::mlflow {

std::optional<RadtRun> radt_run(std::span<const std::pair<std::string, std::string>> params) {
  const auto find = [&](std::string_view key) -> const std::string* {
    const auto found = std::ranges::find(params, key, &std::pair<std::string, std::string>::first);
    return found == params.end() ? nullptr : &found->second;
  };
  const std::string* workload = find("workload");
  const std::string* letter = find("letter");
  if (workload == nullptr || letter == nullptr || find("listeners") == nullptr) return std::nullopt;
  if (workload->empty() || workload->size() > limits::kNameBytes) return std::nullopt;
  return RadtRun{.workload = *workload, .letter = *letter};
}

}  // namespace corral::mlflow
