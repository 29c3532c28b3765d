#include "run/schedule/workload_runner.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <signal.h>

#include <algorithm>
#include <filesystem>

#include "core/ids.h"
#include "run/gate.h"
#include "run/schedule/recovery.h"
#include "sys/file.h"
#include "sys/private_directory.h"

namespace corral::run::schedule {
namespace {

// A supervisor that is not ready by then never will be: environments, the slow part, are ready
// before.
constexpr Nanos kReadyLimit{std::chrono::minutes(10)};
constexpr std::string_view kBesideFailed = "a run beside it could not start";

// Returns the last words of a supervisor that ended before its command started, else how it ended.
std::string reason_not_started(const Event& gone) {
  if (!gone.words.empty()) return gone.words;
  const int status = gone.exit_status.value_or(0);
  const std::string how = status > 128 ? fmt::format("was killed by signal {}", status - 128)
                          : status > 0 ? fmt::format("ended with exit status {}", status)
                                       : std::string("ended");
  return "its supervisor " + how + " before the command started";
}

bool counts(const Member& member) { return !member.row.loop; }

}  // namespace

Member* WorkloadRunner::find_member(const std::string& run) {
  const auto found = std::ranges::find(members_, run, &Member::run);
  return found == members_.end() ? nullptr : &*found;
}

Result<> WorkloadRunner::run(const plan::Workload& workload,
                             const std::vector<collocate::Seat>& seats) {
  workload_ = &workload;
  seats_ = seats;
  seats_.resize(workload.rows.size());
  std::vector<Attempt> attempts;
  for (const plan::Row& row : workload.rows) {
    members_.push_back({.row = row,
                        .repetition = workload.repetition,
                        .run = RunId::random().hex(),
                        .name = recorded_name(workload, row)});
    const Member& member = members_.back();
    attempts.push_back({.key = row.key,
                        .repetition = workload.repetition,
                        .run = member.run,
                        .name = member.name});
  }
  first_ = members_[0].run;
  TRY(parts_.journal.begin(attempts));
  open_ready_directory();
  gate_shut_ = true;
  ready_by_ = parts_.launcher.now() + kReadyLimit;
  for (std::size_t i = 0; i < members_.size(); ++i) {
    const std::string parent = i == 0 ? std::string() : first_;
    const auto launched = parts_.launcher.launch(
        make_order(parts_.plan, {workload, members_[i].row, seats_[i], members_[i].run, parent}));
    parts_.audience.changed(members_[i]);
    if (!launched) {
      members_[i].stage = Member::Stage::kGone;
      end(members_[i], {.outcome = "not-started", .reason = launched.error().message});
    }
  }
  watch();
  return {};
}

Result<> WorkloadRunner::resume(const plan::Workload& workload, const std::vector<Resumed>& runs) {
  workload_ = &workload;
  resumed_ = true;
  seats_.resize(runs.size());
  for (const Resumed& resumed : runs) {
    Member member{.row = resumed.row,
                  .repetition = workload.repetition,
                  .run = resumed.attempt.run,
                  .name = resumed.attempt.name,
                  .stage = resumed.started ? Member::Stage::kRunning : Member::Stage::kPreparing};
    // The supervisor gives up because its scheduler ended.
    member.interrupted = !resumed.started;
    member.may_adopt = resumed.started;
    member.end = resumed.attempt.end;
    if (member.end) member.stage = Member::Stage::kGone;
    members_.push_back(std::move(member));
    Member& added = members_.back();
    if (first_.empty()) first_ = added.run;
    if (added.over()) continue;
    const bool followed =
        resumed.supervisor && parts_.launcher.follow(added.run, *resumed.supervisor).has_value();
    if (!followed && !adopt(added) && !(resumed.started && follow_command(added))) {
      added.stage = Member::Stage::kGone;
      end(added, unseen_end(added));
    }
    parts_.audience.changed(added);
  }
  watch();
  return {};
}

bool WorkloadRunner::adopt(Member& member) {
  if (!member.may_adopt) return false;
  member.may_adopt = false;
  return parts_.launcher.launch(make_adoption_order(parts_.plan, member.run, member.row.limits))
      .has_value();
}

// Follows a command that no supervisor adopts: devices are restored and new runs started only after
// its end.
bool WorkloadRunner::follow_command(const Member& member) {
  if (!parts_.find_command) return false;
  const auto command = parts_.find_command(member.run);
  return command && parts_.launcher.follow(member.run, *command).has_value();
}

// Returns the end of a run that this process did not see; the server may know it from the run's
// data.
End WorkloadRunner::unseen_end(const Member& member) const {
  const End unseen{.outcome = "unknown", .reason = "nobody saw its end"};
  return parts_.recorded_end ? parts_.recorded_end(member.run).value_or(unseen) : unseen;
}

void WorkloadRunner::open_ready_directory() const {
  const auto place = ready_directory(parts_.plan, first_);
  // If the folder cannot be made, no run waits for others.
  if (!place.empty() && members_.size() > 1) [[maybe_unused]]
    const auto made = sys::PrivateDirectory::make(place);
}

// Notes a run as ready, also when it has ended: the others must not wait for it.
void WorkloadRunner::note_ready(const Member& member) const {
  const auto place = ready_directory(parts_.plan, first_);
  if (place.empty()) return;
  if (const auto ready = sys::PrivateDirectory::open(place)) [[maybe_unused]]
    const auto noted = ready->open_file(member.run, O_WRONLY | O_CREAT);
}

void WorkloadRunner::close_ready_directory() const {
  const auto place = ready_directory(parts_.plan, first_);
  if (place.empty()) return;
  if (const auto all = sys::PrivateDirectory::open(place.parent_path()))
    all->remove_all(place.filename());
}

void WorkloadRunner::watch() {
  settle_gate();
  settle_end_rule();
  while (!done()) {
    for (const Event& event : parts_.launcher.wait(deadline())) handle(event);
    settle_gate();
    settle_skew();
    settle_end_rule();
    restart_loops();
    parts_.audience.tick(parts_.launcher.now());
  }
  close_ready_directory();
}

std::optional<BootTime> WorkloadRunner::deadline() const {
  std::optional<BootTime> at = parts_.audience.wake_at();
  if (gate_shut_ && ready_by_ && (!at || *ready_by_ < *at)) at = ready_by_;
  return at;
}

void WorkloadRunner::handle(const Event& event) {
  if (event.kind == EventKind::kSignal) return interrupt(event.signal);
  Member* member = find_member(event.run);
  if (member == nullptr) return;
  if (event.kind == EventKind::kProgress) {
    member->progress = event.progress;
    parts_.audience.progressed(*member);
  }
  if (event.kind == EventKind::kReady && member->stage == Member::Stage::kPreparing)
    member->stage = Member::Stage::kReady;
  if (event.kind == EventKind::kStarted) {
    member->stage = Member::Stage::kRunning;
    member->started = event.started;
    member->may_adopt = true;
    if (const auto noted = parts_.journal.started(member->run); !noted)
      parts_.audience.say(noted.error().message);
    parts_.audience.changed(*member);
  }
  if (event.kind == EventKind::kEnded && !member->over()) {
    member->stage = Member::Stage::kEnding;
    member->ended = event.ended;
    end(*member, event.end);
  }
  if (event.kind == EventKind::kGone) handle_gone(*member, event);
}

void WorkloadRunner::handle_gone(Member& member, const Event& event) {
  if (member.over()) {
    member.stage = Member::Stage::kGone;
    return;
  }
  if (event.end.outcome.empty() && member.stage == Member::Stage::kRunning && adopt(member)) {
    parts_.audience.say("the supervisor of " + member.name + " was killed; the run goes on");
    return;
  }
  if (event.end.outcome.empty() && member.stage == Member::Stage::kRunning &&
      follow_command(member)) {
    parts_.audience.say(member.name + " goes on, but nobody records it any more");
    return;
  }
  End last = event.end;
  if (last.outcome.empty() && member.stage == Member::Stage::kRunning) {
    last = unseen_end(member);
  } else if (last.outcome.empty()) {
    last = {.outcome = "not-started", .reason = reason_not_started(event)};
  }
  member.stage = Member::Stage::kGone;
  end(member, std::move(last));
}

void WorkloadRunner::end(Member& member, End last) {
  // A supervisor without a socket to this process takes the SIGINT for the user's.
  if (!member.stop_reason.empty() && !member.interrupted && last.outcome == "interrupted")
    last = {.outcome = "stopped", .reason = member.stop_reason};
  const bool left_alone = member.interrupted || last.reason == kSchedulerGone;
  if (left_alone && last.outcome == "not-started") last = {.outcome = "interrupted"};
  if (standing_after(last.outcome) != Standing::kFailed) last.tail.clear();
  member.end = std::move(last);
  if (!member.ended) member.ended = parts_.launcher.now();
  note_ready(member);
  if (const auto noted = parts_.journal.ended(member.run, *member.end); !noted)
    parts_.audience.say(noted.error().message);
  parts_.audience.changed(member);
}

void WorkloadRunner::interrupt(int signal) {
  ++interrupts_;
  parts_.audience.say(interrupts_ == 1 ? "stopping the runs; Ctrl-C again to hurry"
                                       : "stopping them faster");
  if (gate_shut_) {
    gate_shut_ = false;
    for (Member& member : members_)
      if (!member.over()) member.interrupted = true;
    parts_.launcher.abandon();
  }
  for (Member& member : members_) {
    if (member.over()) {
      // The supervisor waits for its upload, which may be cut short.
      if (member.stage == Member::Stage::kEnding && interrupts_ > 1)
        parts_.launcher.signal(member.run, SIGTERM);
      continue;
    }
    member.interrupted = true;
    parts_.launcher.signal(member.run, signal == SIGQUIT ? SIGINT : signal);
  }
}

// Opens the gate when all runs are ready; gives up when one never will be.
void WorkloadRunner::settle_gate() {
  if (!gate_shut_) return;
  const auto failed = std::ranges::find_if(members_, &Member::over);
  const bool late = parts_.launcher.now() >= *ready_by_;
  if (failed == members_.end() && !late) {
    const bool ready = std::ranges::all_of(
        members_, [](const Member& m) { return m.stage == Member::Stage::kReady; });
    if (!ready) return;
    gate_shut_ = false;
    skew_told_ = false;
    parts_.launcher.release();
    return;
  }
  gate_shut_ = false;
  for (Member& member : members_) {
    if (member.over()) continue;
    const bool guilty = late && member.stage == Member::Stage::kPreparing;
    end(member, {.outcome = "not-started",
                 .reason = guilty ? "it was not ready in time" : std::string(kBesideFailed)});
    if (guilty) parts_.launcher.signal(member.run, SIGKILL);
  }
  parts_.launcher.abandon();
}

void WorkloadRunner::settle_skew() {
  if (skew_told_) return;
  std::optional<BootTime> first;
  std::optional<BootTime> last;
  for (const Member& member : members_) {
    if (!member.started && !member.over()) return;
    if (!member.started) continue;
    first = std::min(first.value_or(*member.started), *member.started);
    last = std::max(last.value_or(*member.started), *member.started);
  }
  skew_told_ = true;
  if (!first || members_.size() < 2) return;
  const std::string skew = fmt::format("{:.3f}", seconds(*last - *first) * 1e3);
  for (const Member& member : members_)
    parts_.launcher.send_tags(member.run, {{"corral.start_skew_ms", skew}});
}

bool WorkloadRunner::workload_over() const {
  const auto over = [](const Member& m) { return m.over(); };
  const bool others =
      std::ranges::all_of(members_, [&](const Member& m) { return !counts(m) || m.over(); });
  // A workload of neighbours alone is over when all of them are.
  if (std::ranges::none_of(members_, counts)) return std::ranges::all_of(members_, over);
  if (others) return true;
  if (workload_->end == plan::WorkloadEnd::kFirst)
    return std::ranges::any_of(members_, [](const Member& m) { return counts(m) && m.over(); });
  if (workload_->end == plan::WorkloadEnd::kNamed) {
    const auto named = [](const Member& m) { return m.row.ends_workload; };
    return std::ranges::any_of(members_, named) &&
           std::ranges::all_of(members_, [&](const Member& m) { return !named(m) || m.over(); });
  }
  return false;
}

void WorkloadRunner::settle_end_rule() {
  if (stopping_ || gate_shut_ || !workload_over()) return;
  stopping_ = true;
  stop_all("its workload ended");
}

void WorkloadRunner::stop_all(const std::string& reason) {
  for (Member& member : members_) {
    if (member.over() || !member.stop_reason.empty()) continue;
    member.stop_reason = reason;
    parts_.launcher.stop(member.run, reason);
  }
}

// A neighbour starts again as long as its workload runs and it does not fail.
void WorkloadRunner::restart_loops() {
  if (resumed_ || stopping_ || interrupts_ > 0 || std::ranges::none_of(members_, counts)) return;
  for (std::size_t i = 0; i < members_.size(); ++i) {
    Member& member = members_[i];
    if (!member.row.loop || member.stage != Member::Stage::kGone || !member.over()) continue;
    // Only a run that ended by itself or by a limit of its row starts again.
    if (standing_after(member.end->outcome) != Standing::kFinished) continue;
    Member next{.row = member.row,
                .repetition = member.repetition,
                .run = RunId::random().hex(),
                .name = member.name};
    const Attempt attempt{
        .key = next.row.key, .repetition = next.repetition, .run = next.run, .name = next.name};
    if (!parts_.journal.begin({attempt})) return;
    const auto launched = parts_.launcher.launch(
        make_order(parts_.plan, {*workload_, next.row, seats_[i], next.run, first_, true}));
    if (!launched) {
      member = std::move(next);
      member.stage = Member::Stage::kGone;
      end(member, {.outcome = "not-started", .reason = launched.error().message});
      return;
    }
    member = std::move(next);
    parts_.audience.changed(member);
  }
}

bool WorkloadRunner::done() const {
  return std::ranges::all_of(members_,
                             [](const Member& m) { return m.stage == Member::Stage::kGone; });
}

}  // namespace corral::run::schedule
