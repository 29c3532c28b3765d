// Scheduler: runs a plan to its end, workload after workload, for weeks if need be.
//
// The file is read again before each workload; what happens is in the plan's journal first, then in
// the file's Status and Run. Whatever interrupts it, the next scheduler of the plan goes on: runs
// that live are waited for, nothing runs twice, nothing is lost. docs/running-plans.md.
// Threads: this one, asleep between events; the reporter's; the notifier's.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "plan/known.h"
#include "run/schedule/choose.h"
#include "run/schedule/launcher.h"
#include "run/schedule/machine.h"
#include "run/schedule/quiet.h"
#include "run/schedule/recovery.h"
#include "run/schedule/row_order.h"
#include "upload/server_link.h"

namespace corral::run::schedule {

struct ScheduleOptions {
  std::filesystem::path file;   // absolute
  std::filesystem::path state;  // <state>/plans/<plan id>: the plan's own directory
  std::filesystem::path claim;  // directory of the file's lock, the same for every host
  PlanFacts plan;
  plan::Known known;
  RecoveryPlaces places;
  Selection selection;
  bool take_over = false;  // rows that run elsewhere by their Status are run
  bool fail_fast = false;  // no workload is begun after a run has failed
  bool dry_run = false;
  bool quiet = false;
  std::optional<UtcTime> until;  // no workload is begun after it
  Nanos cool_down{0};            // before each workload but the first
  QuietCheck quiet_check = QuietCheck::kOff;
  std::string nvml;                             // library in place of the system's; for tests
  std::string notify;                           // command or web address; empty: nobody
  std::optional<upload::LinkOptions> server{};  // nothing: no server is told
};

struct ScheduleParts {
  Launcher& launcher;
  Machine& machine;
  // Builds what the workload's environments lack. Polls `cancelled`.
  std::function<Result<>(const plan::Workload& workload,
                         const std::function<void(const std::string&)>& say,
                         const std::function<bool()>& cancelled)>
      prepare;
  // How a run ended of which nobody here knows; may be empty.
  std::function<std::optional<End>(const std::string& run)> recorded_end{};
  // Puts back what schedulers that are gone have left changed; after their runs have ended.
  std::function<void(const std::function<void(const std::string&)>& warn)> undo;
};

// The exit status: 0 every run that was selected has finished, 1 one has failed, 2 the plan has
// errors, 3 none has failed, but --until left some for later, 130 interrupted.
int run_schedule(const ScheduleOptions& options, const ScheduleParts& parts);

}  // namespace corral::run::schedule
