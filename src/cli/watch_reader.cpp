#include "cli/watch_reader.h"

#include <fmt/core.h>

#include <algorithm>
#include <set>
#include <utility>

#include "cli/answers.h"
#include "core/text.h"
#include "sys/clock.h"

namespace corral::cli {
namespace {

constexpr Nanos kWatchSecond = std::chrono::seconds(1);
constexpr Nanos kTimeout = 10 * kWatchSecond;
// Times between two requests for the same.
constexpr Nanos kMembersAge = 5 * kWatchSecond;  // for many runs; few are read each time
constexpr Nanos kSeriesAge = 30 * kWatchSecond, kMetricsAge = 2 * kWatchSecond;
constexpr Nanos kOutputAge = kWatchSecond, kEpochsAge = 5 * kWatchSecond;
constexpr Nanos kLinesAge = 4 * kWatchSecond, kPaceAge = 20 * kWatchSecond;
constexpr Nanos kExplainAge = 10 * kWatchSecond;
// An explanation may take the server long: it works on one for this part of the time at most.
constexpr int kExplainShare = 20;
constexpr std::size_t kFewMembers = 100;
// Use and time of a step are means over so long.
constexpr std::int64_t kWindowNs = 20'000'000'000;
// Limits of the requests.
constexpr std::size_t kMostRows = 200, kMostSeries = 256, kMostMembers = 1000;
constexpr std::size_t kPacedRuns = 200;
constexpr std::size_t kMostMetrics = 8;  // with a line
constexpr std::size_t kMostPoints = 256;
constexpr std::size_t kFindings = 3, kOutputLines = 10;

constexpr const char* kSearch = "/api/corral/v1/runs/search";

Json::Array ids_of(std::span<WatchRun* const> runs) {
  Json::Array ids;
  for (const WatchRun* run : runs) ids.emplace_back(run->id);
  return ids;
}

Json newest_first() { return Json::Array{Json::Object{{"by", "start"}, {"descending", true}}}; }

std::vector<std::optional<double>> line_of(const Json& sparkline) {
  std::vector<std::optional<double>> line;
  for (const Json& value : items(sparkline, "y")) line.push_back(number_of(value));
  return line;
}

Json sparkline_question(Json::Array runs, std::size_t characters) {
  Json question;
  question.set("runs", std::move(runs));
  const std::size_t points = std::clamp<std::size_t>(2 * characters, 2, kMostPoints);
  question.set("points", static_cast<std::int64_t>(points));
  return question;
}

bool is_due(BootTime& next, BootTime now, Nanos pause) {
  if (now < next) return false;
  next = now + pause;
  return true;
}

}  // namespace

WatchReader::WatchReader(const sys::HttpTarget& server, WatchSubject subject,
                         const std::atomic<bool>& cancel)
    : client_(server), subject_(std::move(subject)), cancel_(cancel) {}

Result<Json> WatchReader::ask(const std::string& path, const std::string& body) {
  const sys::HttpReply reply = TRY(client_.send({.method = body.empty() ? "GET" : "POST",
                                                 .path = path,
                                                 .body = body,
                                                 .timeout = kTimeout,
                                                 .cancel = &cancel_}));
  if (reply.status != 200) return tl::unexpected(reply_error(reply.status, reply.body));
  return Json::parse(reply.body);
}

const WatchState& WatchReader::refresh(const WatchSight& sight) {
  now_ = sys::boot_now();
  const std::string& opened = subject_.run.empty() ? sight.run : subject_.run;
  const Result<> done = opened.empty() ? read_list(sight) : read_detail(opened, sight);
  if (done) state_.answered = now_;
  state_.gone = !done && done.error().code == Code::kNotFound;
  state_.trouble = done ? "" : done.error().message;
  return state_;
}

// ---- lists

Result<> WatchReader::read_list(const WatchSight& sight) {
  if (!state_.list) state_.list = WatchList{.title = subject_.group.what};
  WatchList& list = *state_.list;
  const bool is_plan = subject_.group.kind == "plans";
  TRY(is_plan ? read_plan(list) : read_members(list));
  std::vector<WatchRun*> rows;
  const std::size_t end =
      std::min(list.rows.size(), sight.first_row + std::min(sight.rows, kMostRows));
  for (std::size_t i = sight.first_row; i < end; ++i)
    if (!list.rows[i].id.empty()) rows.push_back(&list.rows[i]);
  if (is_plan) TRY(read_rows(rows));
  std::erase_if(rows, [](const WatchRun* run) { return run->newest_ns == 0; });
  if (rows.empty()) return {};
  TRY(read_figures(rows));
  return read_lines(rows, sight);
}

Result<> WatchReader::read_plan(WatchList& list) {
  const Json plans = TRY(ask("/api/corral/v1/plans"));
  const Json::Array& all = items(plans, "plans");
  const auto plan = std::ranges::find_if(
      all, [&](const Json& one) { return one.get_string("id") == subject_.group.id; });
  if (plan == all.end()) return fail(Code::kNotFound, "the server has forgotten the plan");
  // The document may be long.
  if (const std::string version = plan->get_string("received_ns"); version != plan_version_) {
    plan_ = TRY(ask(subject_.group.path));
    plan_version_ = version;
    list.rows = plan_rows(plan_);
  }
  const std::string state = plan_.get_string("state"), message = plan_.get_string("message");
  list.over = state != "running";
  list.message = fmt::format("{} on {} · {}{}", state, plan_.get_string("host"),
                             count_words(list.rows), message.empty() ? "" : " · " + message);
  return read_pace(list);
}

Result<> WatchReader::read_pace(WatchList& list) {
  if (list.over) {
    list.left_s.reset();
    return {};
  }
  if (!is_due(next_pace_, now_, kPaceAge)) return {};
  Json question;
  question.set("where", Json::Object{{"tags.corral.plan", Json::Array{subject_.group.id}}});
  question.set("order", newest_first());
  question.set("limit", static_cast<std::int64_t>(kPacedRuns));
  const Json newest = TRY(ask(kSearch, question.dump()));
  list.left_s = plan_left_s(open_workloads(plan_), items(newest, "runs"));
  return {};
}

// Runs of a plan that the server knows.
Result<> WatchReader::read_rows(std::span<WatchRun* const> rows) {
  if (rows.empty()) return {};
  Json question;
  question.set("runs", ids_of(rows));
  question.set("columns", search_columns());
  question.set("limit", static_cast<std::int64_t>(kMostRows));
  const Json found = TRY(ask(kSearch, question.dump()));
  for (const Json& run : items(found, "runs")) {
    for (WatchRun* row : rows)
      if (row->id == run.get_string("id")) take_run(*row, run);
  }
  return {};
}

Result<> WatchReader::read_members(WatchList& list) {
  if (list.rows.size() > kFewMembers && now_ < next_members_) return {};
  next_members_ = now_ + kMembersAge;
  Json question;
  question.set(subject_.group.kind, Json::Array{subject_.group.id});
  question.set("order", newest_first());
  question.set("columns", search_columns());
  question.set("limit", static_cast<std::int64_t>(kMostMembers));
  const Json found = TRY(ask(kSearch, question.dump()));
  if (found.get_int("total") == 0)
    return fail(Code::kNotFound, subject_.group.what + " has no runs");
  list.rows.clear();
  for (const Json& run : items(found, "runs")) take_run(list.rows.emplace_back(), run);
  std::ranges::reverse(list.rows);
  list.over = std::ranges::none_of(list.rows, &WatchRun::runs);
  list.message = count_words(list.rows);
  const std::int64_t all = found.get_int("total");
  if (all <= static_cast<std::int64_t>(kMostMembers)) return {};
  list.message += fmt::format(" of the newest {}; {} in all", kMostMembers, all);
  if (!list.over) return {};
  // An older run may still run.
  question.set("where", Json::Object{{"status", Json::Array{"running"}}});
  question.set("limit", 1);
  list.over = TRY(ask(kSearch, question.dump())).get_int("total") == 0;
  return {};
}

// ---- figures

Result<> WatchReader::read_figures(std::span<WatchRun* const> runs) {
  std::vector<WatchRun*> live;
  std::ranges::copy_if(runs, std::back_inserter(live), &WatchRun::runs);
  for (const WatchRun* run : live) {
    Known& known = known_[run->id];
    // A run that has logged no step yet is looked at more often.
    const Nanos age = known.series.steps ? kSeriesAge : kMetricsAge;
    if (!is_due(known.next_series, now_, age)) continue;
    known.series = find_series(items(TRY(ask(run_path(run->id, "/metrics"))), "metrics"), *run);
  }
  if (!live.empty()) TRY(read_windows(live));
  TRY(read_epochs(runs));
  for (WatchRun* run : live) take_steps_left(*run);
  return {};
}

Result<> WatchReader::read_windows(std::span<WatchRun* const> runs) {
  std::set<std::int64_t> ids;  // devices of a workload belong to several runs
  std::int64_t newest = 0;
  for (const WatchRun* run : runs) {
    const WatchSeries& own = known_[run->id].series;
    newest = std::max(newest, run->newest_ns);
    if (ids.size() + own.gpus.size() + own.cpus.size() + 1 > kMostSeries) break;
    if (own.steps) ids.insert(*own.steps);
    ids.insert(own.cpus.begin(), own.cpus.end());
    ids.insert(own.gpus.begin(), own.gpus.end());
  }
  Json found;
  if (!ids.empty()) {
    Json question;
    question.set("series", Json::Array(ids.begin(), ids.end()));
    question.set("from_ns", std::to_string(newest - kWindowNs));
    question.set("to_ns", std::to_string(newest + kWindowNs));
    found = TRY(ask("/api/corral/v1/windows", question.dump()));
  }
  for (WatchRun* run : runs) take_windows(*run, known_[run->id].series, items(found, "windows"));
  return {};
}

// For one run in detail, and for those whose total is in epochs.
Result<> WatchReader::read_epochs(std::span<WatchRun* const> runs) {
  for (WatchRun* run : runs) {
    const bool wanted = run->runs() && run->total && run->total->epochs;
    if (!wanted && run->id != details_.run) continue;
    Known& known = known_[run->id];
    if (is_due(known.next_epochs, now_, kEpochsAge)) {
      const Json question(Json::Object{{"runs", Json::Array{run->id}}});
      const Json found = TRY(ask("/api/corral/v1/epochs", question.dump()));
      const Json::Array& all = items(found, "runs");
      known.epochs = all.empty() ? Json() : all.front();
    }
    take_epochs(*run, known.epochs);
  }
  return {};
}

Result<> WatchReader::read_lines(std::span<WatchRun* const> runs, const WatchSight& sight) {
  if (sight != lines_of_ || now_ >= next_lines_) {
    const Json question = sparkline_question(ids_of(runs), sight.list_line);
    const Json found = TRY(ask("/api/corral/v1/sparklines", question.dump()));
    for (const WatchRun* run : runs)
      known_[run->id].line = line_of(member(member(found, "sparklines"), run->id.c_str()));
    lines_of_ = sight;
    next_lines_ = now_ + kLinesAge;
  }
  for (WatchRun* run : runs) run->line = known_[run->id].line;
  return {};
}

// ---- one run

Result<> WatchReader::read_detail(const std::string& id, const WatchSight& sight) {
  if (details_.run != id) {
    details_ = {.run = id};
    state_.detail.reset();
  }
  const Json run = TRY(ask(run_path(id)));
  if (!state_.detail) state_.detail.emplace();
  WatchDetail& detail = *state_.detail;
  detail.run = {.reason = member(run, "tags").get_string("corral.outcome.reason")};
  take_run(detail.run, run);
  detail.ending = ending_text(run);
  // All that may have changed until the end is asked for at once.
  if (!detail.run.runs() && !details_.ended) {
    details_ = {.run = id, .metrics = {}, .ended = true};
    known_.erase(id);
  }
  const std::string workload = run.get_string("workload");
  detail.place = run.get_string("experiment") + (workload.empty() ? "" : " · workload " + workload);
  WatchRun* const alone = &detail.run;
  TRY(read_metrics(detail));
  TRY(read_figures({&alone, 1}));
  detail.uses =
      detail.run.runs() ? uses_of(detail.run, run, details_.metrics) : std::vector<WatchUse>();
  TRY(read_metric_lines(detail, sight.detail_line));
  TRY(read_output(detail));
  return read_explanation(detail, run);
}

Result<> WatchReader::read_metrics(WatchDetail& detail) {
  if (!is_due(details_.next_metrics, now_, kMetricsAge)) return {};
  const Json found = TRY(ask(run_path(details_.run, "/metrics")));
  details_.metrics = items(found, "metrics");
  Known& known = known_[details_.run];
  known.series = find_series(details_.metrics, detail.run);
  known.next_series = now_ + kSeriesAge;
  std::vector<WatchMetric> own = own_metrics(details_.metrics, detail.run);
  for (WatchMetric& metric : own) {
    const auto before = std::ranges::find(detail.metrics, metric.name, &WatchMetric::name);
    if (before != detail.metrics.end()) metric.line = std::move(before->line);
  }
  detail.metrics = std::move(own);
  return {};
}

Result<> WatchReader::read_metric_lines(WatchDetail& detail, std::size_t characters) {
  if (detail.metrics.empty() || !is_due(details_.next_lines, now_, kLinesAge)) return {};
  for (std::size_t i = 0; i < std::min(detail.metrics.size(), kMostMetrics); ++i) {
    Json question = sparkline_question({Json(details_.run)}, characters);
    question.set("metric", detail.metrics[i].name);
    const Json found = TRY(ask("/api/corral/v1/sparklines", question.dump()));
    detail.metrics[i].line = line_of(member(member(found, "sparklines"), details_.run.c_str()));
  }
  return {};
}

Result<> WatchReader::read_output(WatchDetail& detail) {
  if (!is_due(details_.next_output, now_, kOutputAge)) return {};
  const Json found = TRY(ask(run_path(details_.run, "/logs?tail=4")));
  detail.output = last_lines(items(found, "chunks"), kOutputLines);
  return {};
}

Result<> WatchReader::read_explanation(WatchDetail& detail, const Json& run) {
  const bool wanted = run.get_bool("has_phases") && !details_.explained;
  if (!wanted || !is_due(details_.next_explain, now_, kExplainAge)) return {};
  const BootTime begun = sys::boot_now();
  const auto found = ask(run_path(details_.run, "/explain"));
  const BootTime ended = sys::boot_now();
  details_.next_explain = ended + std::max(kExplainAge, kExplainShare * (ended - begun));
  // The rest of the state is known without it.
  if (!found) return {};
  details_.explained = !found->get_bool("provisional");
  const bool explains = !items(*found, "parts").empty();
  detail.summary = explains ? found->get_string("summary") : std::string();
  detail.findings.clear();
  for (const Json& one : items(*found, "findings"))
    if (detail.findings.size() < kFindings) detail.findings.push_back(one.get_string("text"));
  return {};
}

}  // namespace corral::cli
