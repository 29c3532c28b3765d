#include "run/schedule/plan_jobs.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "core/ids.h"
#include "core/text.h"
#include "plan/plan_file.h"
#include "run/schedule/notify.h"
#include "run/schedule/plan_part.h"
#include "run/schedule/plan_view.h"
#include "sys/clock.h"
#include "sys/private_directory.h"

namespace corral::run::schedule {
namespace {

constexpr Nanos kLookAtParts{std::chrono::seconds(2)};
constexpr Nanos kAskQueue{std::chrono::seconds(30)};
// Between two looks, so that the plan stays alive while thousands of jobs are submitted.
constexpr int kSubmitAtOnce = 20;
// The queue may answer before a submission has reached it, or leave a job out once.
constexpr int kSurelyMissed = 2;

struct Job {
  std::string number;
  PartFolder files;
  Part part;
  std::string id{};                      // empty: not known, and perhaps there is none
  std::optional<QueuedJob> seen{};       // in the queue, when it was asked last
  int missed = 0;                        // answers of the queue in a row that lack it
  std::optional<BootTime> gone_since{};  // nothing of it executes
  bool own = false;                      // it was alive under this process
  std::string told{};                    // its last problem
};

// The outcome of a run that its job took along; empty: it was to be ended, and runs again.
std::string_view outcome_of(std::string_view state) {
  if (state == "TIMEOUT") return "limit";
  if (state == "OUT_OF_MEMORY") return "out-of-memory";
  constexpr std::array<std::string_view, 4> kFaults = {"NODE_FAIL", "BOOT_FAIL", "DEADLINE",
                                                       "FAILED"};
  return std::ranges::find(kFaults, state) != kFaults.end() ? "unknown" : "";
}

class PlanJobs {
 public:
  PlanJobs(const ScheduleOptions& options, const ScheduleParts& parts, PlanJournal& journal,
           JobQueue& queue, const JobOptions& jobs)
      : options_(options),
        parts_(parts),
        journal_(journal),
        queue_(queue),
        job_options_(jobs),
        view_(options, parts.launcher, journal),
        notifier_(options.notify, [this](const std::string& line) { view_.warn(line); }) {}

  int run(const plan::Plan& plan);

 private:
  void use(const plan::Plan& plan);
  void reload();
  Result<> resume();
  [[nodiscard]] std::string name_of(const std::string& number) const;
  [[nodiscard]] plan::Row row_of(const std::string& key) const;
  [[nodiscard]] Member member_of(const Job& job, const Attempt& attempt) const;

  Result<> step();
  void ask_queue();
  bool is_known(Job& job);
  Result<> look_at(Job& job, bool& over);
  bool is_over(Job& job, const Book& book);
  Result<> take(const Job& job, const Attempt& attempt);
  Result<> settle(Job& job, const Book& book);
  [[nodiscard]] End missing_end(const Job& job, const Attempt* attempt, bool too_late) const;

  void choose();
  Result<> submit_some();
  Result<> submit(const plan::Workload& workload);
  [[nodiscard]] bool is_under_way(const plan::Workload& workload) const;
  [[nodiscard]] std::string waiting_words() const;
  bool pause();
  int detach();
  int finish();

  const ScheduleOptions& options_;
  const ScheduleParts& parts_;
  PlanJournal& journal_;
  JobQueue& queue_;
  const JobOptions& job_options_;
  PlanView view_;
  Notifier notifier_;
  std::vector<plan::Workload> workloads_;
  std::map<std::string, plan::Row> rows_;  // by key
  std::vector<Choice> choices_;
  std::vector<Job> jobs_;  // under way
  std::set<std::pair<std::string, int>> under_way_;
  Begun begun_;
  Begun left_;  // rows that began too late to run
  std::int64_t last_number_ = 0;
  std::string told_queue_;  // its last problem
  std::string told_submit_;
  std::string ended_by_;  // reason why some workloads were not begun
  std::optional<BootTime> asked_queue_;
  std::optional<BootTime> submit_again_;  // not before
  bool changed_ = true;                   // since the last choice
  bool submitted_ = false;                // some job, by this process
  bool failed_ = false;
};

void PlanJobs::use(const plan::Plan& plan) {
  workloads_ = plan::workloads_of(plan.rows);
  view_.projection().set_rows(workloads_);
  rows_.clear();
  for (const plan::Workload& workload : workloads_) {
    for (const plan::Row& row : workload.rows) rows_.emplace(row.key, row);
  }
  if (const auto noted = yield_to_person(workloads_, journal_, begun_); !noted)
    view_.warn(noted.error().message);
  changed_ = true;
}

// The user may have edited rows whose jobs are not submitted.
void PlanJobs::reload() {
  const auto plan = plan::read_plan(options_.file, options_.known);
  if (plan && plan->usable()) return use(*plan);
  view_.warn(plan ? options_.plan.file + " has errors now; the plan goes on as it was"
                  : plan.error().message + "; the plan goes on as it was");
}

std::string PlanJobs::name_of(const std::string& number) const {
  return fmt::format("corral-{}-{}", options_.plan.id.substr(0, 12), number);
}

// One that the user has taken out of the file since has its key alone.
plan::Row PlanJobs::row_of(const std::string& key) const {
  const auto found = rows_.find(key);
  plan::Row row;
  row.key = key;
  return found != rows_.end() ? found->second : row;
}

Member PlanJobs::member_of(const Job& job, const Attempt& attempt) const {
  Member member{.row = row_of(attempt.key),
                .repetition = job.part.repetition,
                .run = attempt.run,
                .name = attempt.name,
                .stage = attempt.end       ? Member::Stage::kGone
                         : attempt.started ? Member::Stage::kRunning
                                           : Member::Stage::kPreparing};
  member.end = attempt.end;
  return member;
}

// The jobs of the schedulers before, and what those had not yet written into the file.
Result<> PlanJobs::resume() {
  const auto folder = TRY(sys::PrivateDirectory::make(parts_of(options_.state)));
  for (const std::string& number : folder.list()) {
    last_number_ = std::max(last_number_, parse_int(number).value_or(0));
    const auto files = TRY(PartFolder::open(folder.path() / number));
    if (files.is_settled()) continue;
    const auto part = files.part();
    // Its scheduler was killed before it knew what to submit.
    if (!part) {
      TRY(files.settle());
      continue;
    }
    jobs_.push_back({.number = number, .files = files, .part = *part, .id = files.id()});
    for (const std::string& key : part->keys) under_way_.insert({key, part->repetition});
    view_.say(fmt::format("{}: {}", part->workload,
                          jobs_.back().id.empty() ? "it may have been submitted before"
                                                  : "goes on in job " + jobs_.back().id));
  }
  view_.projection().touch_all();
  view_.flush();
  return {};
}

// ---- jobs under way

void PlanJobs::ask_queue() {
  const BootTime now = parts_.launcher.now();
  if (jobs_.empty() || (asked_queue_ && now < *asked_queue_ + kAskQueue)) return;
  asked_queue_ = now;
  const auto queued = queue_.jobs();
  const std::string problem = queued ? "" : queued.error().message;
  if (problem != told_queue_ && !problem.empty())
    view_.warn("the queue cannot be asked, jobs go on: " + problem);
  told_queue_ = problem;
  if (!queued) return;
  std::map<std::string_view, const QueuedJob*> by_name, by_id;
  for (const QueuedJob& job : *queued) {
    by_name[job.name] = &job;
    by_id[job.id] = &job;
  }
  for (Job& job : jobs_) {
    // A plan whose state was deleted gives names anew that the queue still knows.
    const auto& by = job.id.empty() ? by_name : by_id;
    const auto found = by.find(job.id.empty() ? name_of(job.number) : job.id);
    job.missed = found != by.end() ? 0 : job.missed + 1;
    if (found != by.end()) job.seen = *found->second;
  }
}

// False: it is not known whether there is a job, or surely there is none.
bool PlanJobs::is_known(Job& job) {
  if (job.id.empty()) job.id = job.files.id();  // the job itself has noted it
  if (job.id.empty() && job.seen) {
    job.id = job.seen->id;
    if (const auto noted = job.files.note_id(job.id); !noted) view_.warn(noted.error().message);
  }
  return !job.id.empty() || job.files.begun();
}

bool PlanJobs::is_over(Job& job, const Book& book) {
  const auto has_ended = [&](const std::string& key) {
    const Attempt* attempt = book.latest(key, job.part.repetition);
    return attempt != nullptr && attempt->end.has_value();
  };
  const auto status = job.files.status();
  if (status && std::ranges::all_of(job.part.keys, has_ended)) return true;
  const bool gone =
      status || (job.seen && job.missed == 0 && job.seen->ended()) || job.missed >= kSurelyMissed;
  const BootTime now = parts_.launcher.now();
  if (!gone) job.gone_since.reset();
  if (gone && !job.gone_since) job.gone_since = now;
  return gone && now >= *job.gone_since + job_options_.lag;
}

Result<> PlanJobs::look_at(Job& job, bool& over) {
  if (!is_known(job)) {
    over = job.missed >= kSurelyMissed;
    // It was never submitted.
    return over ? job.files.settle() : Result<>();
  }
  if (job.missed == 0 && job.seen && job.seen->waits() && !job.files.begun()) return {};
  const Book book = TRY(job.files.book());
  for (const std::string& key : job.part.keys) {
    const Attempt* attempt = book.latest(key, job.part.repetition);
    if (attempt != nullptr) TRY(take(job, *attempt));
  }
  over = is_over(job, book);
  return over ? settle(job, book) : Result<>();
}

// Takes what the job's scheduler has noted of a run into the plan's own journal.
Result<> PlanJobs::take(const Job& job, const Attempt& attempt) {
  const Attempt* known = journal_.book().find(attempt.run);
  const bool is_new = known == nullptr;
  const bool had_started = known != nullptr && known->started;
  const bool had_ended = known != nullptr && known->end.has_value();
  if (is_new) TRY(journal_.begin({attempt}));
  if (attempt.started && !had_started) TRY(journal_.started(attempt.run));
  if (attempt.end && !had_ended) TRY(journal_.ended(attempt.run, *attempt.end));
  if (!is_new && attempt.started == had_started && attempt.end.has_value() == had_ended) return {};
  view_.changed(member_of(job, attempt));
  changed_ = true;
  return {};
}

// `attempt`: null if the job did not begin this run.
End PlanJobs::missing_end(const Job& job, const Attempt* attempt, bool too_late) const {
  if (too_late)
    return {.outcome = "interrupted",
            .reason = "its job began too late, or after an edit of its rows"};
  if (attempt != nullptr && attempt->started && parts_.recorded_end) {
    if (const auto recorded = parts_.recorded_end(attempt->run)) return *recorded;
  }
  const bool told = job.missed == 0 && job.seen && job.seen->ended();
  const std::string state = told ? job.seen->state : "";
  const std::string reason = fmt::format("Slurm's job {} has ended{}; its output is in {}", job.id,
                                         told ? " (" + lower_ascii(state) + ")" : "",
                                         (job.files.path() / "output").string());
  const std::string_view outcome = outcome_of(state);
  // A job that ends by itself before it begins its runs cannot run them.
  const bool broken = attempt == nullptr && (!outcome.empty() || state == "COMPLETED");
  return {.outcome = broken            ? "not-started"
                     : outcome.empty() ? "interrupted"
                                       : std::string(outcome),
          .reason = reason};
}

// The job has ended: a run without an end gets one, and so does one that it never began.
Result<> PlanJobs::settle(Job& job, const Book& book) {
  const bool too_late = job.files.status() == exit_status::kRowsLeft;
  std::vector<Member> members;
  for (const std::string& key : job.part.keys) {
    const Attempt* known = book.latest(key, job.part.repetition);
    Attempt attempt = known != nullptr ? *known
                                       : Attempt{.key = key,
                                                 .repetition = job.part.repetition,
                                                 .run = RunId::random().hex(),
                                                 .name = row_of(key).name};
    if (!attempt.end) attempt.end = missing_end(job, known, too_late);
    TRY(take(job, attempt));
    members.push_back(member_of(job, attempt));
    if (job.own) begun_.insert({key, job.part.repetition});
    if (too_late && known == nullptr) left_.insert({key, job.part.repetition});
  }
  view_.flush();
  const bool failed = std::ranges::any_of(members, [](const Member& member) {
    return standing_after(member.end->outcome) == Standing::kFailed;
  });
  failed_ = failed_ || failed;
  TRY(job.files.settle());
  if (!failed) return {};
  plan::Workload workload;
  workload.name = job.part.workload;
  const auto found = std::ranges::find_if(workloads_, [&](const plan::Workload& one) {
    return workload_label(one) == job.part.workload;
  });
  if (found != workloads_.end()) workload = *found;
  notifier_.send(failure_notice({options_.plan, view_.url(), view_.document()}, workload, members));
  return {};
}

// ---- jobs to come

void PlanJobs::choose() {
  if (!std::exchange(changed_, false)) return;
  view_.projection().refresh(workloads_);
  choices_ = judge(workloads_, journal_.book(), options_.selection, begun_);
  view_.fill(workloads_, choices_);
}

bool PlanJobs::is_under_way(const plan::Workload& workload) const {
  return std::ranges::any_of(workload.rows, [&](const plan::Row& row) {
    return under_way_.contains({row.key, workload.repetition});
  });
}

Result<> PlanJobs::submit(const plan::Workload& workload) {
  const auto folder = TRY(sys::PrivateDirectory::make(parts_of(options_.state)));
  Part part{.plan = options_.plan.id,
            .workload = workload_label(workload),
            .repetition = workload.repetition,
            .keys = {},
            .until = options_.until};
  part.keys.reserve(workload.rows.size());
  for (const plan::Row& row : workload.rows) part.keys.push_back(row.key);
  const std::string number = fmt::format("{:06}", ++last_number_);
  Job job{.number = number, .files = TRY(PartFolder::make(folder, number, part)), .part = part};
  TRY(job.files.write_script(job_options_.script(job.files.path())));
  const auto id = queue_.submit({.name = name_of(number),
                                 .script = job.files.path() / "script",
                                 .output = job.files.path() / "output",
                                 .directory = job_options_.directory,
                                 .options = job_options_.options});
  const bool surely_not = !id && id.error().code != Code::kUnavailable;
  if (surely_not) TRY(job.files.settle());
  if (!surely_not) {
    job.own = true;
    job.id = id.value_or("");
    if (id) TRY(job.files.note_id(*id));
    for (const std::string& key : part.keys) under_way_.insert({key, part.repetition});
    jobs_.push_back(std::move(job));
  }
  if (!id) return tl::unexpected(id.error());
  view_.say(fmt::format("{}: job {}", part.workload, *id));
  return {};
}

// A refusal (too many jobs, a controller that restarts) may pass, but for that of the first.
Result<> PlanJobs::submit_some() {
  if (submit_again_ && parts_.launcher.now() < *submit_again_) return {};
  submit_again_.reset();
  int submitted = 0;
  for (const Choice& choice : choices_) {
    const plan::Workload& workload = workloads_[choice.workload];
    if (choice.verdict != Verdict::kRun || is_under_way(workload)) continue;
    if (options_.until && sys::utc_now() >= *options_.until) {
      ended_by_ = "--until is reached";
      return {};
    }
    if (++submitted > kSubmitAtOnce) return {};
    if (auto done = submit(workload); !done) {
      if (jobs_.empty() && !submitted_) return done;
      if (told_submit_ != done.error().message)
        view_.warn(done.error().message + "; it is tried again");
      told_submit_ = done.error().message;
      submit_again_ = parts_.launcher.now() + kAskQueue;
      return {};
    }
    submitted_ = true;
    told_submit_.clear();
  }
  return {};
}

std::string PlanJobs::waiting_words() const {
  std::map<std::string, int> waits;
  int all = 0;
  for (const Job& job : jobs_) {
    if (job.missed > 0 || !job.seen || !job.seen->waits()) continue;
    ++all;
    ++waits[job.seen->reason.empty() ? "no reason told" : job.seen->reason];
  }
  if (all == 0) return {};
  std::vector<std::string> words;
  words.reserve(waits.size());
  for (const auto& [reason, count] : waits)
    words.push_back(fmt::format("{} for {}", count, reason));
  return fmt::format("{} of {} jobs wait in the queue: {}", all, jobs_.size(), join(words, ", "));
}

// ---- the plan

Result<> PlanJobs::step() {
  ask_queue();
  std::vector<Job> left;
  for (Job& job : jobs_) {
    bool over = false;
    const auto looked = look_at(job, over);
    // A file server may be away for a while.
    if (!looked && looked.error().message != job.told) view_.warn(looked.error().message);
    job.told = looked ? "" : looked.error().message;
    // One that ended while nobody watched runs again.
    job.own = job.own || !job.gone_since;
    if (over && looked) {
      for (const std::string& key : job.part.keys) under_way_.erase({key, job.part.repetition});
      changed_ = true;
    } else {
      left.push_back(std::move(job));
    }
  }
  const bool fewer = left.size() < jobs_.size();
  jobs_ = std::move(left);
  view_.flush();
  if (fewer) reload();
  choose();
  TRY(submit_some());
  view_.set_message(waiting_words());
  view_.tick(parts_.launcher.now());
  return {};
}

// Sleeps; false when the user wants to leave.
bool PlanJobs::pause() {
  const BootTime until = parts_.launcher.now() + kLookAtParts;
  while (parts_.launcher.now() < until) {
    const auto wake = view_.wake_at();
    for (const Event& event : parts_.launcher.wait(std::min(until, wake.value_or(until))))
      if (event.kind == EventKind::kSignal) return false;
    view_.tick(parts_.launcher.now());
  }
  return true;
}

// Jobs are the cluster's: they go on without this process.
int PlanJobs::detach() {
  std::vector<std::string> ids;
  for (const Job& job : jobs_)
    if (!job.id.empty()) ids.push_back(job.id);
  view_.set_end("interrupted", fmt::format("the jobs go on, and the same command follows them; "
                                           "`scancel {}` ends them",
                                           join(ids, " ")));
  view_.flush();
  return exit_status::kInterrupted;
}

int PlanJobs::run(const plan::Plan& plan) {
  use(plan);
  auto done = resume();
  while (done) {
    done = step();
    const auto to_come = [&](const Choice& choice) {
      return choice.verdict == Verdict::kRun && !is_under_way(workloads_[choice.workload]);
    };
    const bool more = ended_by_.empty() && std::ranges::any_of(choices_, to_come);
    if (!done || (jobs_.empty() && !more)) break;
    if (!pause()) return detach();
  }
  if (!done) {
    ended_by_ = done.error().message;
    failed_ = true;
  }
  return finish();
}

int PlanJobs::finish() {
  changed_ = true;
  choose();
  const auto is_left = [&](const Choice& choice) {
    const plan::Workload& workload = workloads_[choice.workload];
    return std::ranges::any_of(workload.rows, [&](const plan::Row& row) {
      return left_.contains({row.key, workload.repetition});
    });
  };
  const bool left = !ended_by_.empty() || std::ranges::any_of(choices_, is_left);
  const bool failed = failed_ || std::ranges::any_of(choices_, [&](const Choice& c) {
                        return (c.verdict == Verdict::kFailed && !is_left(c)) ||
                               (c.verdict == Verdict::kBlocked && !left);
                      });
  std::string words = end_words(view_.document());
  if (!ended_by_.empty()) words = ended_by_ + "; " + words;
  const auto& runs = view_.document().runs();
  if (std::ranges::find(runs, "interrupted", &RunEntry::state) != runs.end())
    words += "; the same command runs again what was interrupted";
  else if (view_.document().counts().failed > 0 && !options_.selection.rerun)
    words += "; --rerun runs again what failed";
  view_.set_end(failed ? "failed" : "finished", words);
  view_.flush();
  notifier_.send(end_notice({options_.plan, view_.url(), view_.document()}));
  if (failed) return exit_status::kFailed;
  return left ? exit_status::kRowsLeft : exit_status::kDone;
}

// Prints the command of each job.
int dry_run(const ScheduleOptions& options, const plan::Plan& plan, const JobOptions& jobs) {
  const auto book = PlanJournal::read(options.state);
  const auto workloads = plan::workloads_of(plan.rows);
  std::vector<std::string> words = {"sbatch"};
  words.insert(words.end(), jobs.options.begin(), jobs.options.end());
  for (const Choice& choice : judge(workloads, book.value_or(Book()), options.selection, {})) {
    const plan::Workload& workload = workloads[choice.workload];
    const bool runs = choice.verdict == Verdict::kRun || choice.verdict == Verdict::kWaits;
    fmt::print("{}: {}\n", workload_label(workload),
               !runs                   ? "no job"
               : choice.reason.empty() ? "$ " + shell_words(words)
                                       : "later, " + choice.reason);
  }
  return exit_status::kDone;
}

}  // namespace

int run_in_jobs(const ScheduleOptions& options, const ScheduleParts& parts, JobQueue& queue,
                const JobOptions& jobs) {
  auto open = open_plan(options);
  if (!open) return open.error();
  if (options.dry_run) return dry_run(options, open->plan, jobs);
  return PlanJobs(options, parts, *open->journal, queue, jobs).run(open->plan);
}

}  // namespace corral::run::schedule
