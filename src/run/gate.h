// Gate: lets a scheduler start the commands of several supervisors at one instant and receive their
// reports.
//
// Two descriptors, inherited from the scheduler:
//   release   read end of a pipe that all supervisors of a workload share. The scheduler writes one
//             byte for each of them, in one write, and closes it: each takes a byte and goes.
//             Its end alone means go, too, but only after a moment in which `reports` stays open:
//             a scheduler that is killed closes both.
//   reports   this supervisor's own stream socket. JSON lines:
//               {"ready": true}   all is prepared, the command waits before its exec
//               {"started_ns": N, "pid": P}   boot time of the command's first instruction, and
//                   its process
//               {"outcome": "finished", "reason": "…", "exit_code": 0, "tail": ["…"],
//                "ended_ns": N}   or "exit_signal"; the boot time of the command's end, and the
//                   last lines of its output. This is the last line, written when the command has
//                   ended and before data is uploaded; it may be the first ("not-started",
//                   "interrupted").
//             In between, once a second at most:
//               {"progress": {"phase": "epoch 3", "step": 1200, "loss": 0.31, "cores": 1.9,
//                             "gpus": {"0": 0.97}}}   known values; a loss of null is not finite
//             Back from the scheduler, after the release:
//               {"stop": "why"}         as SIGINT, with the outcome `stopped`
//               {"tags": {"K": "V"}}    facts of the run that are known only now
//               {"status": W}           status as wait(2) gives it: the command, which the
//                   scheduler inherited when its supervisor died, has ended
// The last report is written to a file, too, for a scheduler that comes later.
// A scheduler that is gone before the release ends the supervisor without a start; afterwards the
// supervisor goes on alone. One thread.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/json.h"
#include "core/time.h"
#include "run/outcome.h"
#include "run/progress.h"
#include "sys/fd.h"
#include "sys/file.h"

namespace corral::run {

// The reason of a run whose scheduler was gone before the start; it is not a failure.
inline constexpr std::string_view kSchedulerGone = "the scheduler is gone";

struct GateOptions {
  int release = -1;  // -1: the command starts at once
  int reports = -1;
  sys::fs::path last_word;  // file of the last report; empty: none
};

// A request of the scheduler.
struct SchedulerRequest {
  std::optional<std::string> stop;
  std::vector<std::pair<std::string, std::string>> tags;
  std::optional<int> status{};
};

class Gate {
 public:
  // Owns the options' descriptors from here on; the command does not inherit them.
  explicit Gate(const GateOptions& options);

  enum class Release { kPending, kOpen, kNever };  // kNever: the scheduler is gone
  // Never waits. kPending: ask again when one of the descriptors is readable, or at wake_at().
  Release poll_release(BootTime now);
  [[nodiscard]] std::optional<BootTime> wake_at() const { return confirm_at_; }
  // Descriptors to poll for reading; -1: none.
  [[nodiscard]] int release_descriptor() const { return confirm_at_ ? -1 : release_.get(); }
  [[nodiscard]] int reports_descriptor() const { return reports_.get(); }

  // Reads requests; call it after the release, when `reports` is readable.
  std::vector<SchedulerRequest> read_requests();

  void ready();
  void started(BootTime at, pid_t command);
  // False: the report was dropped, because the scheduler has not read the earlier ones.
  bool progress(const Progress& progress);
  // Reports the end. `at`: the command's end; nullopt: it never began.
  void ended(const Outcome& outcome, const std::vector<std::string>& tail = {},
             std::optional<BootTime> at = {});

 private:
  void report(const Json& line);
  [[nodiscard]] bool scheduler_gone() const;
  sys::Fd release_;
  sys::Fd reports_;
  sys::fs::path last_word_;
  std::string unread_;
  std::optional<BootTime> confirm_at_;  // the release's end was seen without a byte
};

}  // namespace corral::run
