#include "plan/plan.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "core/text.h"
#include "plan/assemble.h"

namespace corral::plan {
namespace {

constexpr auto kContainerTools =
    std::to_array<std::string_view>({"docker", "podman", "apptainer", "singularity"});

Workload make_workload(const std::vector<Row>& rows, const std::vector<std::size_t>& group) {
  Workload workload;
  workload.experiment = rows[group.front()].experiment;
  workload.name = rows[group.front()].workload;
  for (const std::size_t i : group) {
    const Row& row = rows[i];
    workload.repetitions = std::max(workload.repetitions, row.repeat);
    if (row.end != WorkloadEnd::kAll) workload.end = row.end;
    for (const std::string& name : row.after) {
      if (std::ranges::find(workload.after, name) == workload.after.end())
        workload.after.push_back(name);
    }
    workload.rows.push_back(row);
  }
  return workload;
}

}  // namespace

std::vector<Workload> workloads_of(const std::vector<Row>& rows) {
  std::vector<Workload> once;
  for (const auto& group : rows_by_workload(rows)) once.push_back(make_workload(rows, group));
  int most = 1;
  for (const Workload& workload : once) most = std::max(most, workload.repetitions);
  std::vector<Workload> all;
  for (int repetition = 1; repetition <= most; ++repetition) {
    for (const Workload& workload : once) {
      if (repetition > workload.repetitions) continue;
      all.push_back(workload);
      all.back().repetition = repetition;
    }
  }
  return all;
}

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

bool in_container(std::string_view environment) {
  const std::string kind = lower_ascii(trim(environment.substr(0, environment.find('='))));
  return std::ranges::find(kContainerTools, kind) != kContainerTools.end();
}

}  // namespace corral::plan
