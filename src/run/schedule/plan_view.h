// PlanView: shows the state of a plan on the terminal, in the file's Status and Run, and on the
// server. Used by the scheduler's thread.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "plan/plan.h"
#include "run/schedule/console.h"
#include "run/schedule/plan_journal.h"
#include "run/schedule/plan_report.h"
#include "run/schedule/scheduler.h"
#include "run/schedule/workload_runner.h"

namespace corral::run::schedule {

// Projection: keeps Status and Run of a plan's file equal to the journal. A file that cannot be
// written is reported once and tried again with the next change; the journal has everything. An
// empty path: there is none to write.
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
  std::string reported_;
};

class PlanView : public Audience {
 public:
  PlanView(const ScheduleOptions& options, Launcher& launcher, PlanJournal& journal);

  void fill(const std::vector<plan::Workload>& workloads, const std::vector<Choice>& choices);
  // Sets the plan's activity while no workload runs: "waiting: GPU 0 is 84 C".
  void set_message(const std::string& message);
  // Sets the plan's end.
  void set_end(const std::string& state, const std::string& words);
  void begin_workload(const plan::Workload& workload);
  void end_workload();
  void set_remaining(std::optional<Remaining> remaining) { remaining_ = remaining; }

  void changed(const Member& member) override;
  void progressed(const Member& member) override;
  void say(const std::string& line) override { console_.say(line); }
  void warn(const std::string& line) { console_.warn(line); }
  void tick(BootTime now) override;
  std::optional<BootTime> wake_at() override;
  // Writes and sends everything that is pending.
  void flush();

  [[nodiscard]] const PlanDocument& document() const { return document_; }
  [[nodiscard]] std::string url() { return reporter_ ? reporter_->url() : std::string(); }
  [[nodiscard]] Projection& projection() { return projection_; }

 private:
  Member& keep(const Member& member);
  void draw(BootTime now);
  void say_progress(BootTime now);
  void report(BootTime now);
  void announce(const Member& member);
  [[nodiscard]] std::string place() const;
  Launcher& launcher_;
  Console console_;
  PlanDocument document_;
  Projection projection_;
  std::unique_ptr<PlanReporter> reporter_;
  std::string plan_id_;
  std::string running_;
  std::vector<Member> members_;
  std::optional<BootTime> workload_began_;
  BootTime next_lines_;  // time of the next lines of progress, if nothing is drawn
  std::optional<Remaining> remaining_;
  bool unreported_ = false;
  bool announced_ = false;
  BootTime next_report_;
};

}  // namespace corral::run::schedule
