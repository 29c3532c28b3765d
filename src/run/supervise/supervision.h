// Supervision: the work of one supervisor for one run, from its options to its exit status.
//
// Launching prepares everything and starts the command, or adopts one whose supervisor is gone.
// Then the supervisor watches the command until its end is recorded. One thread, and those of
// Recording.
#pragma once

#include <sys/types.h>

#include <future>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "run/gate.h"
#include "run/notices.h"
#include "run/options.h"
#include "run/outcome.h"
#include "run/record/profiling.h"
#include "run/record/recording.h"
#include "run/slurm_end.h"
#include "run/supervise/accounting.h"
#include "run/supervise/lifeline.h"
#include "run/supervise/run_environment.h"
#include "run/supervise/signals.h"
#include "run/terminal/terminal.h"
#include "sys/process.h"

namespace corral::run {

class Supervision {
 public:
  // `options` and `in_place` outlive it. `lacking`: why the run cannot be recorded; empty: it can.
  Supervision(const Options& options, const InPlace& in_place, std::string lacking);
  // Runs the command and returns the exit status for the shell.
  int run();
  // The same for a run whose supervisor is gone (options.adopt).
  int adopt();
  // True if a thread is stuck in a driver: no destructors may be run.
  [[nodiscard]] bool left_thread_behind() const {
    return recording_ != nullptr && recording_->left_thread_behind();
  }

 private:
  // Until the command runs.
  Result<Command> prepare();
  void record(Command& command);
  int refuse(const Error& error);
  int replace(const std::string& reason);
  int abandon(const Outcome& outcome, int status);
  void begin_accounting();
  std::vector<std::string> command_environment() const;
  Result<RunEnvironment::Start> prepare_start(const Command& command,
                                              std::vector<std::string> environment);
  Result<> spawn(RunEnvironment::Start scene, std::vector<std::string> environment);
  Result<> hold_terminal();
  void observe(pid_t process);
  int wait_for_release();
  int start(const Command& command);
  int release(const Command& command);
  void started(const Command& command);
  void locate();
  void warn_of_ranks();
  [[nodiscard]] BootTime began_at(pid_t process) const;
  void note_launch();
  void begin(BootTime at);

  // A run whose supervisor is gone.
  void await_status();

  // While the command runs.
  int attend();
  void watch();
  void watch_container();
  bool reap();
  bool reap_adopted();
  int next_signal(std::optional<BootTime> deadline);
  bool handle_terminal_signal(int signal);
  void read_gate();
  [[nodiscard]] std::optional<BootTime> next_progress() const;
  void report_progress();
  void handle(int signal);
  void send(int signal);
  void pass_on(int signal);
  void ask_job_end();
  void take_job_end();
  void settle_job_end();
  [[nodiscard]] std::vector<pid_t> left_over() const;
  void leave(std::size_t processes);
  void leftovers();

  // Once the command has ended.
  int end();
  void await_holder() const;
  [[nodiscard]] codec::RunEndBody end_body() const;
  [[nodiscard]] Outcome outcome(const codec::RunEndBody& end, std::string tail) const;
  void profile(BootTime ended);
  void finish_output();
  void wait_uploaded();

  // Constant after construction.
  const Options& options_;
  const InPlace& in_place_;
  const std::string lacking_;  // why the run cannot be recorded; empty: it can
  const BootTime made_;        // preparation begins
  const bool by_launcher_;     // in a job, perhaps behind a scheduler of ours
  const std::optional<SlurmJob> slurm_;

  // Everything below belongs to the main thread. Parts of the supervisor, in the order in which
  // they are made.
  Notices notices_;
  Signals signals_;
  Stopper stopper_;
  Gate gate_;
  RunEnvironment environment_;
  Accounting accounting_;
  std::unique_ptr<Terminal> terminal_;    // the command's own; nullptr: none
  std::unique_ptr<Recording> recording_;  // nullptr: the run is not recorded
  std::optional<Profiling> profiling_;

  // The command's processes.
  std::optional<sys::GatedChild> gated_;
  pid_t child_ = 0;
  std::optional<pid_t> first_;          // the run's first process, if it is not the child
  bool located_ = false;                // first_ ran already when it was found
  std::optional<FirstProcess> inside_;  // the first process inside a container
  sys::Fd adopted_;                     // pidfd of a command that another supervisor has started
  std::vector<sys::fs::path> groups_;   // control groups of the run, if any were made for it
  std::uint64_t group_oom_kills_ = 0;   // before the start
  std::uint64_t host_oom_kills_ = 0;    // likewise

  // When things happened.
  BootTime ready_;  // the command waits before its exec
  BootTime released_;
  std::optional<BootTime> begun_;     // the command's first instruction
  std::optional<BootTime> finished_;  // the command's end
  std::optional<BootTime> limit_;     // time at which --max-time ends the run

  // The end of the command.
  bool ended_ = false;                   // the command itself, not its leftover processes
  int status_ = 0;                       // as wait(2) returns it
  std::optional<int> reported_status_;   // the same of an adopted command, as its parent reported
  std::optional<std::string> end_rule_;  // reason why the scheduler stopped the run
  bool passed_on_ = false;  // a launcher's SIGTERM: it kills what is left of the run itself
  bool unasked_ = false;    // a signal of Slurm's came after it was last asked
  std::future<std::optional<Outcome>> asking_;  // Slurm why it ends the job
  std::optional<Outcome> job_end_;              // its answer

  std::vector<int> typed_;      // signals that keys at the terminal stand for
  Progress reported_progress_;  // the last progress that the scheduler got
  BootTime next_report_;        // time of the next report
};

// The earlier of two deadlines that may be missing.
std::optional<BootTime> earliest(std::optional<BootTime> a, std::optional<BootTime> b);

}  // namespace corral::run
