// WorkloadRunner: one workload from the start of its supervisors to the end of the last one.
//
// All runs start together or none does. Every event is in the journal before it is shown. Ctrl-C
// and SIGTERM interrupt the runs, a second signal ends them faster. One thread, asleep between
// events.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "run/schedule/book.h"
#include "run/schedule/machine.h"
#include "run/schedule/plan_journal.h"
#include "run/schedule/row_order.h"

namespace corral::run::schedule {

// The receiver of a workload's events; called by the runner's thread.
class Audience {
 public:
  virtual ~Audience() = default;
  virtual void changed(const Member& member) = 0;
  virtual void progressed(const Member& member) = 0;
  virtual void say(const std::string& line) = 0;
  // Called after every wait, and at wake_at() at the latest.
  virtual void tick(BootTime now) = 0;
  virtual std::optional<BootTime> wake_at() = 0;
};

// A run of a workload that another scheduler began.
struct Resumed {
  plan::Row row;
  Attempt attempt;
  bool started = true;  // the command has started; false: its supervisor is about to give up
  // The supervisor, if it lives; otherwise the command lives, and is adopted.
  std::optional<sys::ProcessIdentity> supervisor{};
};

class WorkloadRunner {
 public:
  struct Parts {
    Launcher& launcher;
    PlanJournal& journal;
    Audience& audience;
    const PlanFacts& plan;
    // Returns the live command of a run without a supervisor; empty: none is looked for.
    std::function<std::optional<sys::ProcessIdentity>(const std::string& run)> find_command{};
    // Returns the end of a run of which nothing is left on this machine; empty: not asked.
    std::function<std::optional<End>(const std::string& run)> recorded_end{};
  };
  explicit WorkloadRunner(Parts parts) : parts_(std::move(parts)) {}

  // Starts all runs and waits for their end. An error comes from the journal; nothing was started
  // then.
  Result<> run(const plan::Workload& workload, const std::vector<collocate::Seat>& seats);
  // Goes on with the live runs of another scheduler.
  Result<> resume(const plan::Workload& workload, const std::vector<Resumed>& runs);

  [[nodiscard]] const std::vector<Member>& members() const { return members_; }
  // True if the user wants the plan to end.
  [[nodiscard]] bool interrupted() const { return interrupts_ > 0; }

 private:
  void watch();
  void handle(const Event& event);
  void handle_gone(Member& member, const Event& event);
  void interrupt(int signal);
  void settle_gate();
  void settle_end_rule();
  void settle_skew();
  void restart_loops();
  bool adopt(Member& member);
  [[nodiscard]] End unseen_end(const Member& member) const;
  bool follow_command(const Member& member);
  void end(Member& member, End end);
  void open_ready_directory() const;
  void note_ready(const Member& member) const;
  void close_ready_directory() const;
  void stop_all(const std::string& reason);
  [[nodiscard]] bool workload_over() const;
  [[nodiscard]] bool done() const;
  [[nodiscard]] std::optional<BootTime> deadline() const;
  Member* find_member(const std::string& run);

  Parts parts_;
  const plan::Workload* workload_ = nullptr;
  std::string first_;  // ID of the workload's first run; a loop may have another run by now
  std::vector<collocate::Seat> seats_;
  std::vector<Member> members_;
  bool gate_shut_ = false;
  bool skew_told_ = true;
  bool resumed_ = false;   // true: the seats are not known
  bool stopping_ = false;  // the end rule has decided
  int interrupts_ = 0;
  std::optional<BootTime> ready_by_;
};

}  // namespace corral::run::schedule
