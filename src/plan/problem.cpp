#include <fmt/core.h>

#include "plan/plan.h"

namespace corral::plan {

std::string to_line(const Problem& problem, const std::string& file) {
  std::string where = file;
  if (problem.line > 0) where += fmt::format(":{}", problem.line);
  if (problem.line > 0 && problem.column > 0) where += fmt::format(":{}", problem.column);
  std::string what = problem.field;
  if (!problem.value.empty()) what += fmt::format("{}'{}'", what.empty() ? "" : " ", problem.value);
  if (!what.empty()) what += ": ";
  const std::string advice = problem.advice.empty() ? "" : "; " + problem.advice;
  return where + ": " + what + problem.reason + advice;
}

std::string to_message(const Problem& problem, const std::string& file) {
  return (problem.severity == Severity::kWarning ? "warning: " : "") + to_line(problem, file);
}

}  // namespace corral::plan
