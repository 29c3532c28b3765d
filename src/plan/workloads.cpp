#include <algorithm>

#include "plan/finish.h"
#include "plan/plan.h"

namespace corral::plan {
namespace {

Workload workload_of(const std::vector<Row>& rows, const std::vector<std::size_t>& group) {
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
  for (const auto& group : groups_of(rows)) once.push_back(workload_of(rows, group));
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

}  // namespace corral::plan
