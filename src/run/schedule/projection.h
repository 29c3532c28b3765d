// Projection: keeps Status and Run of a plan's file equal to the journal. A file that cannot be
// written is reported once and tried again with the next change; the journal has everything.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "plan/plan.h"
#include "run/schedule/plan_journal.h"

namespace corral::run::schedule {

class Projection {
 public:
  Projection(std::filesystem::path file, PlanJournal& journal,
             std::function<void(const std::string&)> warn)
      : file_(std::move(file)), journal_(journal), warn_(std::move(warn)) {}

  // Sets the rows as they were just read.
  void set_rows(const std::vector<plan::Workload>& workloads);
  // Gives rows that were read before the cells that were written since.
  void refresh(std::vector<plan::Workload>& workloads) const;
  // Notes that the row's cells may have changed.
  void touch(const std::string& key) { touched_.insert(key); }
  void touch_all();
  [[nodiscard]] const PlanJournal& journal() const { return journal_; }
  [[nodiscard]] bool pending() const { return !touched_.empty(); }
  // Writes the cells that differ.
  void flush();

 private:
  struct Known {
    plan::Row row;
    int repetitions = 1;
  };
  std::filesystem::path file_;
  PlanJournal& journal_;
  std::function<void(const std::string&)> warn_;
  std::map<std::string, Known> rows_;
  std::set<std::string> touched_;
  std::string told_;
};

}  // namespace corral::run::schedule
