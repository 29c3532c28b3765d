#include "run/schedule/scheduler.h"

#include <fmt/core.h>
#include <sched.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <ctime>
#include <set>
#include <vector>

#include "core/ids.h"
#include "core/text.h"
#include "plan/plan_file.h"
#include "run/schedule/console.h"
#include "run/schedule/notify.h"
#include "run/schedule/plan_view.h"
#include "sys/clock.h"
#include "sys/file.h"
#include "sys/private_directory.h"

namespace corral::run::schedule {
namespace {

// Binds the calling thread, and the processes that it starts, to some CPUs as long as this lives.
class Affinity {
 public:
  // Without CPUs, or with CPUs that this process may not use, nothing changes.
  explicit Affinity(const std::vector<int>& cpus) {
    if (cpus.empty() || ::sched_getaffinity(0, sizeof before_, &before_) != 0) return;
    cpu_set_t set;
    CPU_ZERO(&set);
    for (const int cpu : cpus)
      if (cpu >= 0 && cpu < CPU_SETSIZE) CPU_SET(static_cast<unsigned>(cpu), &set);
    changed_ = ::sched_setaffinity(0, sizeof set, &set) == 0;
  }
  ~Affinity() {
    if (changed_) ::sched_setaffinity(0, sizeof before_, &before_);
  }
  Affinity(const Affinity&) = delete;
  Affinity& operator=(const Affinity&) = delete;

 private:
  cpu_set_t before_{};
  bool changed_ = false;
};

// Pause between two looks while something disturbs.
constexpr Nanos kLookAgain{std::chrono::seconds(10)};
// The longest time until the data of a block's runs have arrived, and the pause between questions.
constexpr Nanos kDataPatience{std::chrono::minutes(1)};
constexpr Nanos kAskPrecision{std::chrono::milliseconds(500)};

// If all runs have CPU sets of their own, this process and the supervisors avoid those CPUs.
std::vector<int> affinity_for(const Machine& machine, const std::vector<collocate::Seat>& seats) {
  const bool all =
      std::ranges::none_of(seats, [](const collocate::Seat& seat) { return seat.cpus.empty(); });
  return all ? machine.housekeeping() : std::vector<int>();
}

class Scheduler {
 public:
  Scheduler(const ScheduleOptions& options, const ScheduleParts& parts, PlanJournal& journal)
      : options_(options),
        parts_(parts),
        journal_(journal),
        view_(options, parts.launcher, journal),
        notifier_(options.notify, [this](const std::string& line) { view_.warn(line); }),
        probe_("/", options.nvml) {}

  int run(const plan::Plan& plan);

 private:
  void use(const plan::Plan& plan);
  void keep_part();
  void reload();
  void recover();
  void forget_word(const std::string& run);
  void recover_workload(const plan::Workload& workload);
  bool settle(const Attempt& attempt, const Remains& remains);
  WorkloadRunner::Parts runner_parts();
  std::optional<std::size_t> next();
  [[nodiscard]] bool may_begin();
  bool is_in_time();
  bool wait_quiet();
  bool pause(Nanos time);
  void run_workload(const plan::Workload& workload);
  Result<std::vector<collocate::Seat>> acquire_seats(const plan::Workload& workload);
  bool prepare(const plan::Workload& workload, std::string& reason);
  void fail_workload(const plan::Workload& workload, const std::string& reason);
  void conclude(const plan::Workload& workload, const std::vector<Member>& members, Nanos took);
  void resume_blocks();
  [[nodiscard]] std::vector<RepeatedWorkload> repeated_workloads() const;
  bool begin_block();
  int finish();

  const ScheduleOptions& options_;
  const ScheduleParts& parts_;
  PlanJournal& journal_;
  PlanView view_;
  Notifier notifier_;
  QuietProbe probe_;
  std::vector<plan::Workload> workloads_;
  std::vector<Choice> choices_;
  Begun begun_;
  bool interrupted_ = false;
  bool failed_ = false;          // a run has failed in this session
  bool ran_ = false;             // a workload has run in this session
  bool idle_ = true;             // nothing was begun or waited for in this session
  std::set<std::string> noted_;  // each note is printed once
  std::string ended_by_;         // reason why some workloads were not begun; empty: all were
  Nanos spent_{0};
  std::size_t done_ = 0;
  int blocks_ = 1;   // the number of times that each workload runs at least
  plan::Plan plan_;  // as it was read last without errors
};

void Scheduler::use(const plan::Plan& plan) {
  if (&plan != &plan_) plan_ = plan;
  std::vector<plan::Row> rows = plan.rows;
  for (plan::Row& row : rows) row.repeat = std::max(row.repeat, blocks_);
  workloads_ = plan::workloads_of(rows);
  if (options_.part) keep_part();
  view_.projection().set_rows(workloads_);
}

// Keys of its rows; empty: there is no such workload.
std::vector<std::string> keys_of(const std::vector<plan::Workload>& workloads,
                                 const std::string& label) {
  std::vector<std::string> keys;
  for (const plan::Workload& workload : workloads) {
    if (workload_label(workload) != label) continue;
    for (const plan::Row& row : workload.rows) keys.push_back(row.key);
  }
  return keys;
}

// In a job: who submitted it has decided that the workload runs, whatever the file says.
void Scheduler::keep_part() {
  std::erase_if(workloads_, [&](const plan::Workload& workload) {
    return workload_label(workload) != options_.part->workload;
  });
  for (plan::Workload& workload : workloads_) {
    for (plan::Row& row : workload.rows) {
      row.status.clear();
      row.run.clear();
    }
  }
}

// Reads the file before each workload: the user may have edited rows that have not started.
void Scheduler::reload() {
  if (options_.part) return;  // an edited row is another one, of another job
  auto plan = plan::read_plan(options_.file, options_.known);
  if (!plan) {
    view_.warn(plan.error().message + "; the plan goes on as it was");
  } else if (!plan->usable()) {
    view_.warn(options_.plan.file + " has errors now; the plan goes on as it was");
    for (const plan::Problem& problem : plan->problems)
      if (problem.severity == plan::Severity::kError)
        view_.warn(plan::to_line(problem, options_.plan.file));
  } else {
    use(*plan);
    if (const auto noted = yield_to_person(workloads_, journal_, begun_); !noted)
      view_.warn(noted.error().message);
  }
}

WorkloadRunner::Parts Scheduler::runner_parts() {
  return {parts_.launcher,
          journal_,
          view_,
          options_.plan,
          [this](const std::string& run) { return find_command(run, options_.places); },
          parts_.recorded_end};
}

std::optional<std::size_t> Scheduler::next() {
  view_.projection().refresh(workloads_);
  choices_ = judge(workloads_, journal_.book(), options_.selection, begun_);
  view_.fill(workloads_, choices_);
  const auto runs = [](const Choice& c) { return c.verdict == Verdict::kRun; };
  const auto left = std::ranges::count_if(
      choices_, [&](const Choice& c) { return runs(c) || c.verdict == Verdict::kWaits; });
  view_.set_remaining(
      estimate({spent_, done_}, static_cast<std::size_t>(left), options_.cool_down));
  const auto found = std::ranges::find_if(choices_, runs);
  if (found == choices_.end()) return std::nullopt;
  return found->workload;
}

bool Scheduler::settle(const Attempt& attempt, const Remains& remains) {
  if (remains.kind == Remains::Kind::kSupervised || remains.kind == Remains::Kind::kOrphaned)
    return false;
  End end = remains.end;
  // A supervisor that found its scheduler gone reports the same.
  const bool gave_up = end.outcome == "not-started" && !attempt.started && !remains.own_fault;
  const bool no_trace = remains.kind == Remains::Kind::kNotStarted;
  if (no_trace || gave_up)
    end = {.outcome = "interrupted", .reason = "its scheduler ended before it started"};
  // The server is asked also if nothing is left here: all data may have been uploaded.
  if ((no_trace || end.outcome == "unknown") && parts_.recorded_end)
    end = parts_.recorded_end(attempt.run).value_or(end);
  // No process saw the end: the cause that ended supervisor and scheduler may have ended the run,
  // too.
  if (end.outcome == "unknown")
    end = {.outcome = "interrupted", .reason = "its scheduler and its supervisor were killed"};
  if (const auto noted = journal_.ended(attempt.run, end); !noted)
    view_.warn(noted.error().message);
  return true;
}

// Removes a run's last word, which is not needed once its end is in the journal.
void Scheduler::forget_word(const std::string& run) {
  const Attempt* attempt = journal_.book().find(run);
  const auto words = sys::PrivateDirectory::open(options_.places.last_words);
  if (words && attempt != nullptr && attempt->end) words->remove(run + ".json");
}

// Waits for runs of this workload that the last scheduler began and that still live.
void Scheduler::recover_workload(const plan::Workload& workload) {
  std::vector<Resumed> runs;
  bool live = false;
  for (const plan::Row& row : workload.rows) {
    const Attempt* known = journal_.book().latest(row.key, workload.repetition);
    if (known == nullptr) continue;
    Resumed resumed{.row = row, .attempt = *known};
    if (!known->end) {
      const Remains remains = find_remains(*known, options_.places);
      live = !settle(*known, remains) || live;
      resumed.attempt = *journal_.book().find(resumed.attempt.run);
      resumed.started = remains.started;
      resumed.supervisor = remains.supervisor;
    }
    runs.push_back(std::move(resumed));
  }
  if (!live) return;
  idle_ = false;
  view_.say(workload_label(workload) + ": its runs are still there; waiting for them");
  view_.begin_workload(workload);
  WorkloadRunner runner(runner_parts());
  if (const auto resumed = runner.resume(workload, runs); !resumed)
    view_.warn(resumed.error().message);
  interrupted_ = runner.interrupted();
  for (const Member& member : runner.members())
    failed_ = failed_ || standing_after(member.end->outcome) == Standing::kFailed;
  view_.end_workload();
}

void Scheduler::recover() {
  std::set<std::pair<std::string, int>> open;
  for (const Attempt* attempt : journal_.book().open())
    open.insert({attempt->key, attempt->repetition});
  for (const plan::Workload& workload : workloads_) {
    const bool began = std::ranges::any_of(workload.rows, [&](const plan::Row& row) {
      return open.contains({row.key, workload.repetition});
    });
    if (began && !interrupted_) recover_workload(workload);
  }
  // Rows that the user has removed from the file since: their ended runs are settled, live ones are
  // left alone.
  for (const Attempt* attempt : journal_.book().open()) {
    if (interrupted_) break;
    settle(Attempt(*attempt), find_remains(*attempt, options_.places));
  }
  const auto words = sys::PrivateDirectory::open(options_.places.last_words);
  for (const std::string& name : words ? words->list() : std::vector<std::string>())
    forget_word(fs::path(name).stem().string());
  // Removes the folders of workloads whose scheduler was killed; none runs by now.
  const fs::path& ready = options_.plan.ready;
  const auto state = sys::PrivateDirectory::open(ready.parent_path());
  if (!interrupted_ && !ready.empty() && state) state->remove_all(ready.filename());
  view_.projection().touch_all();
  view_.flush();
}

// Sleeps; false when the user wants the plan to end.
bool Scheduler::pause(Nanos time) {
  const BootTime until = parts_.launcher.now() + time;
  while (!interrupted_ && parts_.launcher.now() < until) {
    const auto wake = view_.wake_at();
    for (const Event& event : parts_.launcher.wait(std::min(until, wake.value_or(until))))
      interrupted_ = interrupted_ || event.kind == EventKind::kSignal;
    view_.tick(parts_.launcher.now());
  }
  return !interrupted_;
}

bool Scheduler::wait_quiet() {
  while (options_.quiet_check != QuietCheck::kOff) {
    probe_.begin(parts_.launcher.now());
    if (!pause(QuietProbe::kLook)) return false;
    const auto found = disturbances(probe_.end(parts_.launcher.now()));
    if (found.empty()) break;
    const std::string words = join(found, "; ");
    if (options_.quiet_check == QuietCheck::kWarn) {
      view_.warn("not quiet: " + words);
      break;
    }
    if (options_.quiet_check == QuietCheck::kRefuse) {
      ended_by_ = "not quiet: " + words;
      failed_ = true;
      return false;
    }
    view_.set_message("waiting: " + words);
    if (!pause(kLookAgain) || !is_in_time()) return false;
  }
  view_.set_message("");
  return true;
}

bool Scheduler::may_begin() {
  if (interrupted_) return false;
  if (options_.fail_fast && failed_) {
    ended_by_ = "--fail-fast: a run has failed";
    return false;
  }
  if (!is_in_time()) return false;
  if (ran_ && options_.cool_down > Nanos(0)) {
    view_.set_message("cooling down for " + human_duration(options_.cool_down));
    if (!pause(options_.cool_down)) return false;
    view_.set_message("");
  }
  return wait_quiet() && is_in_time();
}

bool Scheduler::is_in_time() {
  if (!options_.until || sys::utc_now() < *options_.until) return true;
  ended_by_ = "--until is reached";
  return false;
}

bool Scheduler::prepare(const plan::Workload& workload, std::string& reason) {
  if (!parts_.prepare) return true;
  const auto cancelled = [&] {
    for (const Event& event : parts_.launcher.wait(parts_.launcher.now()))
      interrupted_ = interrupted_ || event.kind == EventKind::kSignal;
    return interrupted_;
  };
  const auto prepared = parts_.prepare(
      workload, [&](const std::string& line) { view_.say(line); }, cancelled);
  if (!prepared) reason = prepared.error().message;
  return prepared.has_value();
}

// Selects from the lines "run 2: why" (runs numbered from 0) those of this run and those of all
// runs.
std::string reason_of_row(const std::string& reason, std::size_t row) {
  std::string own;
  for (const std::string_view line : split(reason, '\n')) {
    const std::size_t colon = line.find(": ");
    const auto run = line.starts_with("run ") && colon != std::string_view::npos
                         ? parse_int(line.substr(4, colon - 4))
                         : std::nullopt;
    if (run && static_cast<std::size_t>(*run) != row) continue;
    own += (own.empty() ? "" : "\n") + std::string(run ? line.substr(colon + 2) : line);
  }
  return own.empty() ? "a run beside it could not start" : own;
}

// Records that a workload cannot start; the plan goes on.
void Scheduler::fail_workload(const plan::Workload& workload, const std::string& reason) {
  std::vector<Attempt> attempts;
  for (const plan::Row& row : workload.rows) {
    attempts.push_back({.key = row.key,
                        .repetition = workload.repetition,
                        .run = RunId::random().hex(),
                        .name = recorded_name(workload, row)});
  }
  auto noted = journal_.begin(attempts);
  std::vector<Member> members;
  for (std::size_t i = 0; noted && i < attempts.size(); ++i) {
    Member member{.row = workload.rows[i],
                  .repetition = workload.repetition,
                  .run = attempts[i].run,
                  .name = attempts[i].name,
                  .stage = Member::Stage::kGone};
    member.end = End{.outcome = "not-started", .reason = reason_of_row(reason, i)};
    noted = journal_.ended(member.run, *member.end);
    view_.changed(member);
    members.push_back(std::move(member));
  }
  if (!noted) view_.warn(noted.error().message);
  conclude(workload, members, Nanos(0));
}

void Scheduler::conclude(const plan::Workload& workload, const std::vector<Member>& members,
                         Nanos took) {
  idle_ = false;
  for (const plan::Row& row : workload.rows) begun_.insert({row.key, workload.repetition});
  const bool failed = std::ranges::any_of(members, [](const Member& m) {
    return m.end && standing_after(m.end->outcome) == Standing::kFailed;
  });
  failed_ = failed_ || failed;
  if (took > Nanos(0)) {
    spent_ += took;
    ++done_;
  }
  view_.flush();
  for (const Member& member : members) forget_word(member.run);
  if (failed)
    notifier_.send(
        failure_notice({options_.plan, view_.url(), view_.document()}, workload, members));
}

// Waits for devices that another scheduler uses.
Result<std::vector<collocate::Seat>> Scheduler::acquire_seats(const plan::Workload& workload) {
  for (;;) {
    auto seats = parts_.machine.set(workload);
    const bool taken = !seats && seats.error().code == Code::kUnavailable;
    if (!taken || options_.fail_fast) return seats;
    view_.set_message("waiting: " + seats.error().message);
    const bool go_on = pause(kLookAgain) && is_in_time();
    view_.set_message("");
    if (!go_on) return seats;
  }
}

void Scheduler::run_workload(const plan::Workload& workload) {
  std::string reason;
  if (!prepare(workload, reason)) {
    if (!interrupted_) fail_workload(workload, reason);
    return;
  }
  const auto seats = acquire_seats(workload);
  if (!seats && (interrupted_ || !ended_by_.empty())) return;
  if (!seats) return fail_workload(workload, seats.error().message);
  for (const collocate::Seat& seat : *seats)
    for (const std::string& note : seat.notes)
      if (noted_.insert(note).second) view_.say(note);
  view_.begin_workload(workload);
  const BootTime began = parts_.launcher.now();
  const Affinity away(affinity_for(parts_.machine, *seats));
  WorkloadRunner runner(runner_parts());
  const auto done = runner.run(workload, *seats);
  interrupted_ = interrupted_ || runner.interrupted();
  if (const auto cleared = parts_.machine.clear(); !cleared) view_.warn(cleared.error().message);
  view_.end_workload();
  ran_ = true;
  // Without a journal nothing may be started: runs would be run again.
  if (!done) {
    ended_by_ = done.error().message;
    failed_ = true;
    interrupted_ = true;
  }
  conclude(workload, runner.members(), parts_.launcher.now() - began);
}

// Returns the message for a plan in which nothing was left to do.
std::string idle_words(const PlanDocument& document) {
  const auto runs = static_cast<std::int64_t>(document.runs().size());
  if (document.counts().finished < runs) return "nothing to run: " + end_words(document);
  return fmt::format(
      "nothing to run: {} finished; --rerun repeats failed ones, an emptied Status repeats a row",
      runs == 1 ? "the run has" : fmt::format("all {} runs have", runs));
}

// ---- blocks

// As many as the plan itself repeats, or as the last scheduler of it had begun.
void Scheduler::resume_blocks() {
  if (!options_.blocks) return;
  blocks_ = options_.blocks->least;
  for (const plan::Row& row : plan_.rows) blocks_ = std::max(blocks_, row.repeat);
  const auto has_begun = [&](const plan::Row& row) {
    return journal_.book().latest(row.key, blocks_ + 1) != nullptr;
  };
  while (std::ranges::any_of(plan_.rows, has_begun)) ++blocks_;
}

// The selected ones; the baseline comes first.
std::vector<RepeatedWorkload> Scheduler::repeated_workloads() const {
  std::vector<RepeatedWorkload> all;
  std::string baseline;
  for (const Choice& choice : choices_) {
    const plan::Workload& workload = workloads_[choice.workload];
    if (!is_selected(workload, options_.selection)) continue;
    const std::string label = workload.experiment + "/" + workload.name;
    auto found = std::ranges::find(all, label, &RepeatedWorkload::label);
    if (found == all.end()) found = all.insert(all.end(), {.label = label, .runs = {}});
    for (const plan::Row& row : workload.rows) {
      if (row.baseline && baseline.empty()) baseline = label;
      const Attempt* attempt = journal_.book().latest(row.key, workload.repetition);
      // The server never heard of one that could not start.
      const bool started =
          attempt != nullptr && attempt->end && attempt->end->outcome != "not-started";
      if (started) found->runs.push_back(attempt->run);
    }
  }
  std::stable_partition(all.begin(), all.end(), [&](const RepeatedWorkload& workload) {
    return workload.label == baseline;
  });
  return all;
}

// After each block, from the least on; false if no other one follows.
bool Scheduler::begin_block() {
  if (!options_.blocks || !parts_.precision) return false;
  using State = Precision::State;
  const std::vector<RepeatedWorkload> workloads = repeated_workloads();
  Precision found = parts_.precision(workloads);
  const BootTime until = parts_.launcher.now() + kDataPatience;
  while (found.state == State::kWaits && parts_.launcher.now() < until && pause(kAskPrecision))
    found = parts_.precision(workloads);
  if (interrupted_) return false;
  if (found.state == State::kWide && blocks_ < options_.blocks->most) {
    view_.say(fmt::format("{} blocks: {}; one more", blocks_, found.words));
    ++blocks_;
    use(plan_);
    reload();
    return true;
  }
  if (found.state == State::kNarrow || found.state == State::kWide) {
    view_.say(fmt::format("stopped {} after {} blocks: {}",
                          found.state == State::kNarrow ? "by precision" : "by --most-blocks",
                          blocks_, found.words));
  } else {
    ended_by_ = fmt::format("after {} blocks nothing can be said of the precision: {}", blocks_,
                            found.words);
    failed_ = true;
  }
  return false;
}

int Scheduler::finish() {
  const auto unfinished = std::ranges::count_if(choices_, [](const Choice& c) {
    return c.verdict != Verdict::kFinished && c.verdict != Verdict::kNotSelected;
  });
  const bool stopped_early = interrupted_ || !ended_by_.empty();
  const bool failed = failed_ || std::ranges::any_of(choices_, [](const Choice& c) {
                        return c.verdict == Verdict::kFailed || c.verdict == Verdict::kBlocked;
                      });
  std::string words =
      idle_ && !stopped_early ? idle_words(view_.document()) : end_words(view_.document());
  if (!ended_by_.empty()) words = ended_by_ + "; " + words;
  if (unfinished > 0 && stopped_early)
    words += "; the same command goes on";
  else if (failed && !options_.selection.rerun)
    words += "; --rerun runs again what failed";
  view_.set_end(interrupted_ ? "interrupted" : failed ? "failed" : "finished", words);
  view_.flush();
  notifier_.send(end_notice({options_.plan, view_.url(), view_.document()}));
  if (interrupted_ && ended_by_.empty()) return exit_status::kInterrupted;
  if (failed) return exit_status::kFailed;
  return unfinished > 0 && !ended_by_.empty() ? exit_status::kRowsLeft : exit_status::kDone;
}

int Scheduler::run(const plan::Plan& plan) {
  plan_ = plan;
  resume_blocks();
  use(plan_);
  recover();
  reload();
  // This follows an interrupt, too: the runs that were waited for have ended.
  if (parts_.undo) parts_.undo([this](const std::string& line) { view_.warn(line); });
  do {
    for (auto workload = next(); workload && may_begin(); workload = next()) {
      // A copy: the list may change while other runs are waited for.
      run_workload(plan::Workload(workloads_[*workload]));
      if (interrupted_ || !ended_by_.empty()) break;
      reload();
    }
  } while (!interrupted_ && ended_by_.empty() && begin_block());
  if (!interrupted_) next();
  return finish();
}

// ---- --dry-run

std::string quoted(const std::string& word) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_=+./,:@%";
  if (!word.empty() && word.find_first_not_of(kPlain) == std::string::npos) return word;
  std::string text = "'";
  for (const char c : word) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return text + "'";
}

std::string_view describe(Verdict verdict) {
  switch (verdict) {
    case Verdict::kFinished:
      return "finished";
    case Verdict::kFailed:
      return "failed before; --rerun runs it again";
    case Verdict::kNotSelected:
      return "not selected";
    case Verdict::kWaits:
      return "later";
    case Verdict::kBlocked:
      return "not to be run";
    case Verdict::kRun:
      break;
  }
  return "to be run";
}

void print_run(const plan::Workload& workload, const plan::Row& row) {
  fmt::print("    {}", recorded_name(workload, row));
  if (!row.share.devices.empty() || !row.collocation.empty())
    fmt::print("  [{}{}{}]", row.letter, row.collocation.empty() ? "" : " ", row.collocation);
  fmt::print("\n      $ ");
  for (const auto& [name, value] : row.env) fmt::print("{}={} ", name, quoted(value));
  fmt::print("{}\n", shell_words(row.command));
}

bool print_workload(const plan::Workload& workload, Machine& machine) {
  for (const plan::Row& row : workload.rows) print_run(workload, row);
  const auto changes = machine.changes(workload);
  if (!changes) {
    fmt::print("    cannot be run: {}\n", changes.error().message);
    return false;
  }
  for (const std::string& change : *changes) fmt::print("    change: {}\n", change);
  return true;
}

// Prints the steps of a scheduler, in order, on standard output. Changes nothing.
int dry_run(const ScheduleOptions& options, const ScheduleParts& parts, const Book& book,
            const plan::Plan& plan) {
  const auto workloads = plan::workloads_of(plan.rows);
  const auto choices = judge(workloads, book, options.selection, {});
  if (options.blocks)
    fmt::print("repeated in {} to {} blocks of these:\n", options.blocks->least,
               options.blocks->most);
  bool fits = true;
  for (const Choice& choice : choices) {
    const plan::Workload& workload = workloads[choice.workload];
    fmt::print("{}: {}", workload_label(workload), describe(choice.verdict));
    fmt::print("{}\n", choice.reason.empty() ? "" : ", " + choice.reason);
    if (choice.verdict == Verdict::kRun || choice.verdict == Verdict::kWaits)
      fits = print_workload(workload, parts.machine) && fits;
  }
  return fits ? 0 : 1;
}

// ---- The start of a scheduler

void print_problems(const plan::Plan& plan, const std::string& file) {
  for (const plan::Problem& problem : plan.problems)
    fmt::print(stderr, "{}\n", printable(plan::to_message(problem, file)));
}

// Devices and CPUs of a row are locked; rows without them may run beside other plans.
void warn_of_others(const ScheduleOptions& options, const plan::Plan& plan) {
  const auto unbound = std::ranges::find_if(plan.rows, [](const plan::Row& row) {
    return row.share.devices.empty() && row.share.cpus.empty() && !row.share.cpu_count;
  });
  if (unbound == plan.rows.end()) return;
  for (const std::string& other : PlanLock::others(options.state))
    fmt::print(stderr,
               "corral: another plan is running on this host ({}): rows without Devices and Cpus, "
               "as line {}, share the machine with it\n",
               printable(other), unbound->line);
}

// A file that several hosts share may have only one scheduler.
Result<> check_elsewhere(const plan::Plan& plan, const Book& book, const std::string& file) {
  const auto found = std::ranges::find_if(
      plan.rows, [&](const plan::Row& row) { return book.runs_elsewhere(row); });
  if (found == plan.rows.end()) return {};
  return fail(Code::kUnavailable,
              fmt::format("{}:{}: Status is RUNNING, but run {} is not known on this host: another "
                          "host may be running this plan. Wait until it ends; if nothing runs any "
                          "more, clear the cell or add --take-over",
                          file, found->line, found->run));
}

// Blocks compare workloads with each other.
Result<> check_blocks(const plan::Plan& plan, const ScheduleOptions& options) {
  std::set<std::pair<std::string, std::string>> names;
  std::size_t rows = 0;
  for (const plan::Workload& workload : plan::workloads_of(plan.rows)) {
    if (workload.repetition != 1 || !is_selected(workload, options.selection)) continue;
    names.emplace(workload.experiment, workload.name);
    rows += workload.rows.size();
  }
  for (const plan::Row& row : plan.rows) {
    if (row.workload.find('#') != std::string::npos)
      return fail(Code::kInvalidArgument,
                  fmt::format("--until-interval: line {}: workload '{}' is in a block of the file "
                              "itself; generate the plan without `repeats`",
                              row.line, printable(row.workload)));
  }
  if (names.size() < 2)
    return fail(Code::kInvalidArgument,
                "--until-interval compares workloads, and only one is to run");
  const std::size_t runs = rows * static_cast<std::size_t>(options.blocks->most);
  if (names.size() <= kMostRepeatedWorkloads && runs <= kMostRepeatedRuns) return {};
  return fail(
      Code::kInvalidArgument,
      fmt::format("--until-interval: {} workloads with up to {} runs; at most {} with {} are "
                  "compared: choose some by --only, or fewer --most-blocks",
                  names.size(), runs, kMostRepeatedWorkloads, kMostRepeatedRuns));
}

int refuse(const Error& error) {
  fmt::print(stderr, "corral: {}\n", printable_lines(error.message));
  return exit_status::kFailed;
}

}  // namespace

Result<> yield_to_person(const std::vector<plan::Workload>& workloads, PlanJournal& journal,
                         Begun& begun) {
  Result<> done;
  for (const plan::Workload& workload : workloads) {
    for (const plan::Row& row : workload.rows) {
      if (workload.repetition != 1 || !journal.book().overruled(row)) continue;
      if (const auto noted = journal.forget(row.key); !noted) done = noted;
      for (int repetition = 1; repetition <= workload.repetitions; ++repetition)
        begun.erase({row.key, repetition});
    }
  }
  return done;
}

tl::expected<OpenPlan, int> open_plan(const ScheduleOptions& options) {
  const auto refused = [](const Error& error) { return tl::unexpected(refuse(error)); };
  auto plan = plan::read_plan(options.file, options.known);
  if (!plan) return refused(plan.error());
  if (options.part) {
    // Other rows may have errors, as they would have on another host or in the middle of an edit.
    if (keys_of(plan::workloads_of(plan->rows), options.part->workload) != options.part->keys) {
      fmt::print(stderr, "corral: {}: rows of {} were edited after the job was submitted\n",
                 printable(options.plan.file), printable(options.part->workload));
      return tl::unexpected(exit_status::kRowsLeft);
    }
  } else {
    print_problems(*plan, options.plan.file);
  }
  if (!plan->usable() && !options.part) {
    fmt::print(stderr, "corral: {} has errors; nothing was run\n", printable(options.plan.file));
    return tl::unexpected(exit_status::kMisuse);
  }
  if (const auto checked = options.blocks ? check_blocks(*plan, options) : Result<>(); !checked) {
    fmt::print(stderr, "corral: {}\n", checked.error().message);
    return tl::unexpected(exit_status::kMisuse);
  }
  OpenPlan open{.plan = *std::move(plan), .locks = {}};
  if (options.dry_run) return open;
  for (const fs::path& place : {options.state, options.claim}) {
    if (place.empty()) continue;
    auto lock = PlanLock::acquire(place, sys::utc_now());
    if (!lock) return refused(lock.error());
    open.locks.push_back(*std::move(lock));
  }
  auto journal = PlanJournal::open(options.state);
  if (!journal) return refused(journal.error());
  open.journal = std::make_unique<PlanJournal>(*std::move(journal));
  const bool shares = options.take_over || options.part;
  const auto free =
      shares ? Result<>() : check_elsewhere(open.plan, open.journal->book(), options.plan.file);
  if (!free) return refused(free.error());
  return open;
}

namespace {

// Another process that runs the part has its own last word, and an interrupted one none: its job
// may begin again.
int end_part(const ScheduleOptions& options, int status) {
  if (!options.part || status == exit_status::kInterrupted) return status;
  const auto folder = PartFolder::open(options.state);
  const auto noted = folder ? folder->note_status(status) : tl::unexpected(folder.error());
  return noted ? status : refuse(noted.error());
}

}  // namespace

int run_schedule(const ScheduleOptions& options, const ScheduleParts& parts) {
  auto open = open_plan(options);
  if (!open && open.error() == exit_status::kRowsLeft) return end_part(options, open.error());
  if (!open) return open.error();
  if (options.dry_run) {
    const auto book = PlanJournal::read(options.state);
    return book ? dry_run(options, parts, *book, open->plan) : refuse(book.error());
  }
  // Parts on one host have locks of their own; their devices are locked by the machine.
  if (!options.part) warn_of_others(options, open->plan);
  return end_part(options, Scheduler(options, parts, *open->journal).run(open->plan));
}

std::string shell_words(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) {
    if (!text.empty()) text += ' ';
    text += quoted(word);
  }
  return text;
}

// ---- --until

namespace {

UtcTime from_local(std::tm local) {
  local.tm_isdst = -1;
  return UtcTime(std::chrono::seconds(std::mktime(&local)));
}

// True if the whole text has the format, as strptime(3) reads it.
bool reads_as(const std::string& text, const char* format, std::tm& fields) {
  const char* end = ::strptime(text.c_str(), format, &fields);
  return end != nullptr && *end == '\0';
}

}  // namespace

std::optional<UtcTime> parse_until(std::string_view text, UtcTime now) {
  const std::string whole(text);
  const std::time_t seconds_now =
      std::chrono::duration_cast<std::chrono::seconds>(now.time_since_epoch()).count();
  std::tm today{};
  ::localtime_r(&seconds_now, &today);
  for (const char* format : {"%H:%M", "%H:%M:%S"}) {
    std::tm fields = today;
    fields.tm_sec = 0;
    if (!reads_as(whole, format, fields)) continue;
    if (from_local(fields) <= now) ++fields.tm_mday;
    return from_local(fields);
  }
  constexpr std::array kDates = {"%Y-%m-%dT%H:%M", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M",
                                 "%Y-%m-%d %H:%M:%S"};
  for (const char* format : kDates) {
    std::tm fields{};
    if (reads_as(whole, format, fields)) return from_local(fields);
  }
  const Nanos duration = parse_duration(text);
  if (duration == kNoDuration) return std::nullopt;
  return now + duration;
}

}  // namespace corral::run::schedule
