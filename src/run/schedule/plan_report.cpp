#include "run/schedule/plan_report.h"

#include <fmt/core.h>
#include <pthread.h>

#include <algorithm>
#include <chrono>

#include "core/json.h"
#include "core/text.h"
#include "run/schedule/row_order.h"
#include "sys/thread_guard.h"

namespace corral::run::schedule {
namespace {

RunEntry make_entry(const plan::Workload& workload, const plan::Row& row) {
  return {.key = row.key,
          .line = row.line,
          .experiment = workload.experiment,
          .workload = workload.name,
          .repetition = workload.repetition,
          .name = recorded_name(workload, row),
          .letter = row.letter,
          .collocation = row.collocation,
          .devices = join(row.share.devices, "+"),
          .model = row.command.empty() ? std::string() : row.command[0]};
}

// Fills in the known facts of a run that is not under way.
void describe(RunEntry& entry, const plan::Row& row, const Book& book) {
  const Attempt* attempt = book.latest(row.key, entry.repetition);
  if (attempt != nullptr && !book.overruled(row)) {
    entry.run = attempt->run;
    if (!attempt->end) {
      entry.state = "running";
      return;
    }
    entry.state = attempt->end->outcome;
    entry.reason = attempt->end->reason;
    entry.tail = attempt->end->tail;
    return;
  }
  const Standing standing = book.standing(row, entry.repetition);
  if (standing == Standing::kOpen) return;
  entry.state = standing == Standing::kFinished ? "finished" : "failed";
  entry.run = row.run;
}

}  // namespace

void PlanDocument::fill(const std::vector<plan::Workload>& workloads, const Book& book,
                        const std::vector<Choice>& choices) {
  std::vector<const Choice*> by_workload(workloads.size());
  std::vector<int> turns(workloads.size());
  for (std::size_t i = 0; i < choices.size(); ++i) {
    by_workload[choices[i].workload] = &choices[i];
    turns[choices[i].workload] = static_cast<int>(i) + 1;
  }
  runs_.clear();
  places_.clear();
  for (std::size_t i = 0; i < workloads.size(); ++i) {
    for (const plan::Row& row : workloads[i].rows) {
      RunEntry entry = make_entry(workloads[i], row);
      entry.turn = turns[i];
      describe(entry, row, book);
      const Choice* choice = by_workload[i];
      if (entry.state == "waiting" && choice != nullptr)
        entry.reason = choice->verdict == Verdict::kNotSelected ? "not selected" : choice->reason;
      places_[{entry.key, entry.repetition}] = runs_.size();
      runs_.push_back(std::move(entry));
    }
  }
}

void PlanDocument::update(const Member& member) {
  const auto place = places_.find({member.row.key, member.repetition});
  if (place == places_.end()) return;
  RunEntry& entry = runs_[place->second];
  entry.state = member.state();
  entry.run = member.run;
  entry.reason = member.end ? member.end->reason : std::string();
  entry.tail = member.end ? member.end->tail : std::vector<std::string>();
}

PlanDocument::Counts PlanDocument::counts() const {
  Counts counts;
  for (const RunEntry& entry : runs_) {
    if (entry.state == "waiting" || standing_after(entry.state) == Standing::kOpen) {
      ++counts.waiting;
    } else if (entry.state == "preparing" || entry.state == "running") {
      ++counts.running;
    } else if (standing_after(entry.state) == Standing::kFinished) {
      ++counts.finished;
    } else {
      ++counts.failed;
    }
  }
  return counts;
}

std::string PlanDocument::json(UtcTime now) const {
  std::string out;
  JsonWriter json(out);
  json.begin_object().member("file", file_).member("host", host_).member("state", state_);
  json.key("updated_ns").value_string(ns_of(now));
  json.member("message", message_).key("runs").begin_array();
  for (const RunEntry& run : runs_) {
    json.begin_object().member("key", run.key).member("line", run.line);
    json.member("experiment", run.experiment).member("workload", run.workload);
    json.member("repetition", run.repetition).member("name", run.name);
    json.member("letter", run.letter).member("collocation", run.collocation);
    json.member("devices", run.devices).member("model", run.model);
    json.member("turn", run.turn).member("state", run.state);
    json.member("run", run.run).member("reason", run.reason).key("tail").begin_array();
    for (const std::string& line : run.tail) json.value(line);
    json.end_array().end_object();
  }
  json.end_array().end_object();
  return out;
}

namespace {

constexpr Nanos kStart{std::chrono::seconds(2)};  // longest time for starting a server
constexpr Nanos kAnswer{std::chrono::seconds(10)};
constexpr auto kPause = std::chrono::milliseconds(500);  // between two documents
constexpr auto kRetry = std::chrono::seconds(5);
constexpr auto kLast = std::chrono::seconds(15);  // for the last document, at the end

}  // namespace

std::string end_words(const PlanDocument& document) {
  const auto& runs = document.runs();
  const auto counts = document.counts();
  const int interrupted =
      static_cast<int>(std::ranges::count(runs, std::string_view("interrupted"), &RunEntry::state));
  std::string words = fmt::format("{} of {} runs finished", counts.finished, runs.size());
  if (counts.failed > 0) words += fmt::format(", {} failed", counts.failed);
  if (interrupted > 0) words += fmt::format(", {} interrupted", interrupted);
  return words;
}

PlanReporter::PlanReporter(upload::LinkOptions link, std::string plan_id)
    : link_(std::move(link)), path_("/api/corral/v1/plans/" + std::move(plan_id)) {
  auto thread = sys::start_thread("the reporter of the plan", [this](const std::stop_token& stop) {
    sys::guard_loop("the reporter of the plan", stop, [&] { loop(stop); });
  });
  if (thread) {
    thread_ = *std::move(thread);
  } else {
    sys::note_thread_failure("the reporter of the plan", thread.error().message);
  }
}

PlanReporter::~PlanReporter() {
  {
    Lock lock(mutex_);
    closing_ = true;
    wake_.notify_all();
    if (thread_.joinable())
      wake_.wait_for(lock, kLast, [this]() REQUIRES(mutex_) { return !next_ && !busy_; });
  }
  thread_.request_stop();
}

void PlanReporter::submit(std::string document) {
  {
    const Lock lock(mutex_);
    next_ = std::move(document);
  }
  wake_.notify_all();
}

std::string PlanReporter::url() {
  const Lock lock(mutex_);
  return url_;
}

bool PlanReporter::send(const std::string& document) {
  const auto server = link_.connect(kStart);
  if (!server || (*server)->http() == nullptr) return false;
  {
    const Lock lock(mutex_);
    url_ = link_.url();
  }
  const auto reply = (*server)->http()->send(
      {.method = "PUT", .path = path_, .body = document, .timeout = kAnswer});
  if (!reply) link_.drop();
  // True also for a rejected document, which is not sent again.
  return reply && reply->status < 500;
}

void PlanReporter::loop(const std::stop_token& stop) {
  ::pthread_setname_np(::pthread_self(), "corral-plan");
  Lock lock(mutex_);
  busy_ = false;
  while (wake_.wait(lock, stop, [this]() REQUIRES(mutex_) { return next_.has_value(); })) {
    const std::string document = std::move(*next_);
    next_.reset();
    busy_ = true;
    lock.unlock();
    const bool sent = send(document);
    lock.lock();
    busy_ = false;
    if (!sent && !next_) next_ = document;
    wake_.notify_all();
    const auto closing = [this]() REQUIRES(mutex_) { return closing_; };
    if (sent) {
      wake_.wait_for(lock, stop, kPause, closing);
    } else if (closing_) {
      // A pause before the next try: a server that rejects answers at once.
      wake_.wait_for(lock, stop, kPause, [] { return false; });
    } else {
      wake_.wait_for(lock, stop, kRetry, closing);
    }
    if (stop.stop_requested()) return;
  }
}

}  // namespace corral::run::schedule
