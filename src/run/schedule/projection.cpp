#include "run/schedule/projection.h"

#include <algorithm>

#include "core/failpoint.h"
#include "plan/plan_file.h"

namespace corral::run::schedule {

void Projection::set_rows(const std::vector<plan::Workload>& workloads) {
  rows_.clear();
  for (const plan::Workload& workload : workloads)
    for (const plan::Row& row : workload.rows)
      rows_[row.key] = {.row = row, .repetitions = workload.repetitions};
}

void Projection::refresh(std::vector<plan::Workload>& workloads) const {
  for (plan::Workload& workload : workloads) {
    for (plan::Row& row : workload.rows) {
      const auto known = rows_.find(row.key);
      if (known == rows_.end()) continue;
      row.status = known->second.row.status;
      row.run = known->second.row.run;
    }
  }
}

void Projection::touch_all() {
  for (const auto& [key, known] : rows_) touched_.insert(key);
}

void Projection::flush() {
  std::vector<plan::Mark> marks;
  std::vector<std::pair<std::string, std::string>> lines;
  for (const std::string& key : touched_) {
    const auto known = rows_.find(key);
    if (known == rows_.end()) continue;
    const plan::Row& row = known->second.row;
    // A Status of the user stays until the scheduler has read it.
    if (journal_.book().overruled(row)) continue;
    const auto cells = journal_.book().cells(row, known->second.repetitions);
    if (!cells || (cells->status == row.status && cells->run == row.run)) continue;
    marks.push_back({.key = key, .status = cells->status, .run = cells->run});
    lines.emplace_back(key, cells->status);
  }
  if (marks.empty()) return touched_.clear();
  auto written = journal_.writing(lines).and_then([&] {
    failpoint::reach("plan.before_marks");
    return plan::mark_rows(file_, marks).map([](const plan::Marked&) {});
  });
  failpoint::reach("plan.after_marks");
  std::vector<std::string> keys;
  keys.reserve(marks.size());
  for (const plan::Mark& mark : marks) keys.push_back(mark.key);
  if (written) written = journal_.written(keys);
  if (!written) {
    // The rows stay touched.
    if (told_ != written.error().message)
      warn_("Status and Run cannot be written, the plan goes on: " + written.error().message);
    told_ = written.error().message;
    return;
  }
  told_.clear();
  touched_.clear();
  for (const plan::Mark& mark : marks) {
    rows_[mark.key].row.status = mark.status;
    rows_[mark.key].row.run = mark.run;
  }
}

}  // namespace corral::run::schedule
