// Scheduler: runs a plan to its end, workload after workload, for weeks if needed.
//
// The file is read again before each workload. Every event is written to the plan's journal first,
// then to the file's Status and Run. After any interruption, the next scheduler of the plan goes
// on: live runs are waited for, nothing runs twice, nothing is lost. See docs/running-plans.md.
// Threads: this one, asleep between events; the reporter's; the notifier's.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "core/time.h"
#include "plan/known.h"
#include "run/schedule/choose.h"
#include "run/schedule/launcher.h"
#include "run/schedule/machine.h"
#include "run/schedule/plan_journal.h"
#include "run/schedule/plan_part.h"
#include "run/schedule/precision.h"
#include "run/schedule/quiet.h"
#include "run/schedule/recovery.h"
#include "run/schedule/row_order.h"
#include "upload/server_link.h"

namespace corral::run::schedule {

// A plan that repeats: so many blocks, each with every workload once.
struct Blocks {
  int least = 10;
  int most = 50;
};

struct ScheduleOptions {
  std::filesystem::path file;   // absolute
  std::filesystem::path state;  // <state>/plans/<plan id>: the plan's own directory
  std::filesystem::path claim;  // directory of the file's lock, the same for every host
  PlanFacts plan;
  plan::Known known;
  RecoveryPaths places;
  Selection selection;
  bool take_over = false;  // rows that run elsewhere, according to their Status, are run
  bool fail_fast = false;  // no workload is begun after a run has failed
  bool dry_run = false;
  bool quiet = false;
  std::optional<UtcTime> until;  // no workload is begun after it
  std::optional<Blocks> blocks;  // the plan repeats until ScheduleParts::precision is content
  Nanos cool_down{0};            // before each workload but the first
  QuietCheck quiet_check = QuietCheck::kOff;
  std::string nvml;                             // replaces the system's library; for tests
  std::string notify;                           // command or web address; empty: none
  std::optional<upload::LinkOptions> server{};  // nullopt: the plan is not sent to a server
  // The one workload that this scheduler runs in a job, for one that keeps the plan, its file and
  // its document (plan_jobs.h); `state` is the part's directory. nullopt: it runs the plan.
  std::optional<Part> part{};
};

struct ScheduleParts {
  Launcher& launcher;
  Machine& machine;
  // Builds missing parts of the workload's environments. Polls `cancelled`.
  std::function<Result<>(const plan::Workload& workload,
                         const std::function<void(const std::string&)>& say,
                         const std::function<bool()>& cancelled)>
      prepare;
  // Returns the end of a run of which nothing is left on this machine; may be empty.
  std::function<std::optional<End>(const std::string& run)> recorded_end{};
  // Asks how sure the comparison of these workloads is; the baseline comes first. For `blocks`.
  std::function<Precision(const std::vector<RepeatedWorkload>& workloads)> precision{};
  // Undoes the changes of schedulers that are gone; call it after their runs have ended.
  std::function<void(const std::function<void(const std::string&)>& warn)> undo;
};

namespace exit_status {
inline constexpr int kDone = 0;      // every selected run has finished
inline constexpr int kFailed = 1;    // a run has failed
inline constexpr int kMisuse = 2;    // the plan has errors
inline constexpr int kRowsLeft = 3;  // none has failed, but --until left some for later
inline constexpr int kInterrupted = 130;
}  // namespace exit_status

// A plan that this process alone schedules, on all hosts that see its file.
struct OpenPlan {
  plan::Plan plan;
  std::vector<PlanLock> locks;             // none with --dry-run
  std::unique_ptr<PlanJournal> journal{};  // null with --dry-run
};
// Otherwise the exit status; what is wrong was said.
tl::expected<OpenPlan, int> open_plan(const ScheduleOptions& options);

// A Status of the user overrides the known attempts: they are forgotten, and count as not begun.
Result<> yield_to_person(const std::vector<plan::Workload>& workloads, PlanJournal& journal,
                         Begun& begun);

// Returns the exit status.
int run_schedule(const ScheduleOptions& options, const ScheduleParts& parts);

// Parses a point in time of the user: "18:30" (the next one, local time), "2026-11-23 08:00" or
// "2026-11-23T08:00:00" (local), or a duration from now: "90m", "3h". Nullopt: none of these.
std::optional<UtcTime> parse_until(std::string_view text, UtcTime now);

// Returns the words quoted for a shell.
std::string shell_words(const std::vector<std::string>& words);

}  // namespace corral::run::schedule
