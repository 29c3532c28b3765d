#include "run/schedule/plan_view.h"

#include <fmt/core.h>

#include <algorithm>

#include "core/failpoint.h"
#include "plan/plan_file.h"
#include "sys/clock.h"
#include "sys/socket.h"

namespace corral::run::schedule {
namespace {

constexpr Nanos kRedraw{std::chrono::seconds(1)};
// Pause between lines of progress; a log of weeks stays readable.
constexpr Nanos kLines{std::chrono::minutes(10)};
constexpr Nanos kReport{std::chrono::milliseconds(500)};

}  // namespace

PlanView::PlanView(const ScheduleOptions& options, Launcher& launcher, PlanJournal& journal)
    : launcher_(launcher),
      console_(options.quiet),
      document_(options.plan.file, sys::host_name()),
      projection_(options.part ? fs::path() : options.file, journal,
                  [this](const std::string& line) { warn(line); }),
      plan_id_(options.plan.id) {
  if (options.server && !options.part)
    reporter_ = std::make_unique<PlanReporter>(*options.server, options.plan.id);
}

void PlanView::fill(const std::vector<plan::Workload>& workloads,
                    const std::vector<Choice>& choices) {
  document_.fill(workloads, projection_.journal().book(), choices);
  unreported_ = true;
}

void PlanView::set_message(const std::string& message) {
  if (message == document_.message()) return;
  document_.set_message(message);
  if (!message.empty() && !console_.live()) console_.say(message);
  unreported_ = true;
}

void PlanView::set_end(const std::string& state, const std::string& words) {
  document_.set_state(state);
  document_.set_message(words);
  console_.draw({});
  console_.say(words);
  unreported_ = true;
}

void PlanView::begin_workload(const plan::Workload& workload) {
  running_ = workload_label(workload);
  members_.clear();
  workload_began_ = launcher_.now();
  next_lines_ = *workload_began_ + kLines;
}

void PlanView::end_workload() {
  running_.clear();
  members_.clear();
  workload_began_.reset();
}

Member& PlanView::keep(const Member& member) {
  const auto same = std::ranges::find_if(members_, [&](const Member& m) {
    return m.row.key == member.row.key && m.repetition == member.repetition;
  });
  if (same == members_.end()) return members_.emplace_back(member);
  return *same = member;
}

void PlanView::changed(const Member& member) {
  document_.update(member);
  projection_.touch(member.row.key);
  unreported_ = true;
  announce(keep(member));
}

// The server does not get progress: it has the run's data.
void PlanView::progressed(const Member& member) { keep(member); }

// Returns "[3/10] "; empty while the runs of a former scheduler are waited for: no workload is
// known yet.
std::string PlanView::place() const {
  const auto counts = document_.counts();
  const auto all = counts.waiting + counts.running + counts.finished + counts.failed;
  return all > 0 ? fmt::format("[{}/{}] ", counts.finished + counts.failed, all) : std::string();
}

// Prints a line for each run now and then, if nothing is drawn.
void PlanView::say_progress(BootTime now) {
  if (console_.live() || !workload_began_ || now < next_lines_) return;
  next_lines_ = now + kLines;
  for (const Member& member : members_) {
    if (member.stage != Member::Stage::kRunning) continue;
    const std::string words = progress_words(progress_run(member, members_, now));
    console_.say(place() + member.name + ": " + (words.empty() ? "running" : words));
  }
}

// Prints a permanent line: failures always, starts only if nothing is drawn.
void PlanView::announce(const Member& member) {
  if (member.over()) {
    const bool failed = standing_after(member.end->outcome) == Standing::kFailed;
    std::string line = place() + member.name + ": " + member.end->outcome;
    if (!member.end->reason.empty() && member.end->reason != member.end->outcome)
      line += " (" + member.end->reason + ")";
    if (member.started && member.ended)
      line += " after " + human_duration(*member.ended - *member.started);
    if (failed) {
      console_.warn(line);
      for (const std::string& text : member.end->tail) console_.warn("    " + text);
    } else {
      console_.say(line);
    }
  } else if (member.stage == Member::Stage::kRunning && !console_.live()) {
    console_.say(place() + member.name + ": running");
  }
}

void PlanView::draw(BootTime now) {
  if (!console_.live()) return;
  ProgressView view{
      .counts = document_.counts(), .now = document_.message(), .remaining = {}, .runs = {}};
  if (remaining_)
    view.remaining =
        remaining_after(*remaining_, workload_began_ ? now - *workload_began_ : Nanos(0));
  if (!running_.empty()) view.now = running_;
  for (const Member& member : members_) view.runs.push_back(progress_run(member, members_, now));
  console_.draw(progress_lines(view, Console::width()));
}

void PlanView::report(BootTime now) {
  if (reporter_ == nullptr || !unreported_ || now < next_report_) return;
  unreported_ = false;
  next_report_ = now + kReport;
  reporter_->submit(document_.json(sys::utc_now()));
  if (announced_) return;
  const std::string url = reporter_->url();
  announced_ = !url.empty();
  if (announced_) console_.say(url + "/plans/" + plan_id_);
}

void PlanView::tick(BootTime now) {
  projection_.flush();
  report(now);
  say_progress(now);
  draw(now);
}

std::optional<BootTime> PlanView::wake_at() {
  std::optional<BootTime> at;
  if (workload_began_) at = console_.live() ? launcher_.now() + kRedraw : next_lines_;
  if (reporter_ != nullptr && unreported_ && (!at || next_report_ < *at)) at = next_report_;
  return at;
}

void PlanView::flush() {
  projection_.flush();
  next_report_ = {};
  report(launcher_.now());
}

void Projection::set_rows(const std::vector<plan::Workload>& workloads) {
  rows_.clear();
  for (const plan::Workload& workload : workloads)
    for (const plan::Row& row : workload.rows)
      rows_[row.key] = {.row = row, .repetitions = workload.repetitions};
}

void Projection::refresh(std::vector<plan::Workload>& workloads) const {
  for (plan::Workload& workload : workloads) {
    for (plan::Row& row : workload.rows) {
      const auto known = rows_.find(row.key);
      if (known == rows_.end()) continue;
      row.status = known->second.row.status;
      row.run = known->second.row.run;
    }
  }
}

void Projection::touch_all() {
  for (const auto& [key, known] : rows_) touched_.insert(key);
}

void Projection::flush() {
  if (file_.empty()) return touched_.clear();
  std::vector<plan::Mark> marks;
  std::vector<std::pair<std::string, std::string>> lines;
  for (const std::string& key : touched_) {
    const auto known = rows_.find(key);
    if (known == rows_.end()) continue;
    const plan::Row& row = known->second.row;
    // A Status of the user stays until the scheduler has read it.
    if (journal_.book().overruled(row)) continue;
    const auto cells = journal_.book().cells(row, known->second.repetitions);
    if (!cells || (cells->status == row.status && cells->run == row.run)) continue;
    marks.push_back({.key = key, .status = cells->status, .run = cells->run});
    lines.emplace_back(key, cells->status);
  }
  if (marks.empty()) return touched_.clear();
  auto written = journal_.writing(lines).and_then([&] {
    failpoint::reach("plan.before_marks");
    return plan::mark_rows(file_, marks).map([](const plan::Marked&) {});
  });
  failpoint::reach("plan.after_marks");
  std::vector<std::string> keys;
  keys.reserve(marks.size());
  for (const plan::Mark& mark : marks) keys.push_back(mark.key);
  if (written) written = journal_.written(keys);
  if (!written) {
    // The rows stay touched.
    if (reported_ != written.error().message)
      warn_("Status and Run cannot be written, the plan goes on: " + written.error().message);
    reported_ = written.error().message;
    return;
  }
  reported_.clear();
  touched_.clear();
  for (const plan::Mark& mark : marks) {
    rows_[mark.key].row.status = mark.status;
    rows_[mark.key].row.run = mark.run;
  }
}

}  // namespace corral::run::schedule
