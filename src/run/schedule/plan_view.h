// PlanView: shows the state of a plan on the terminal, in the file's Status and Run, and on the
// server. Used by the scheduler's thread.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "run/schedule/console.h"
#include "run/schedule/plan_document.h"
#include "run/schedule/plan_reporter.h"
#include "run/schedule/progress.h"
#include "run/schedule/projection.h"
#include "run/schedule/scheduler.h"
#include "run/schedule/workload_runner.h"

namespace corral::run::schedule {

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
