#include "analyze/workflow.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <tuple>
#include <utility>

#include "analyze/explain/part_use.h"
#include "analyze/footprint/energy.h"
#include "core/text.h"

namespace corral::analyze {
namespace {

double span_seconds(UtcTime from, UtcTime to) { return window_seconds({.from = from, .to = to}); }

double run_length(const WorkflowRun& run) { return window_seconds(run.time); }

// Runs by their workload, and the workloads that each comes after.
class WorkloadOrder {
 public:
  explicit WorkloadOrder(std::span<const WorkflowRun> runs) {
    for (std::size_t i = 0; i < runs.size(); ++i)
      members_[key_of(runs[i], runs[i].workload)].push_back(i);
    for (const WorkflowRun& run : runs) {
      auto& before = before_[key_of(run, run.workload)];
      for (const std::string& name : run.after)
        if (const auto* key = find_repetition(run, name)) before.insert(*key);
    }
  }

  // The runs that those of this one's workload came after; of one workload each, all its attempts.
  [[nodiscard]] std::vector<std::span<const std::size_t>> before(const WorkflowRun& run) const {
    std::vector<std::span<const std::size_t>> all;
    for (const Key& key : before_.at(key_of(run, run.workload))) all.emplace_back(members_.at(key));
    return all;
  }
  [[nodiscard]] bool comes_after(const WorkflowRun& run, const WorkflowRun& earlier) const {
    return before_.at(key_of(run, run.workload)).contains(key_of(earlier, earlier.workload));
  }

  // The workloads of a circle; empty: there is none. Without recursion: chains may be long.
  [[nodiscard]] std::vector<std::string> circle() const {
    std::map<Key, std::size_t> waits_for;
    std::map<Key, std::vector<Key>> next;
    for (const auto& [key, before] : before_) {
      waits_for[key] = before.size();
      for (const Key& one : before) next[one].push_back(key);
    }
    std::vector<Key> free;
    for (const auto& [key, count] : waits_for)
      if (count == 0) free.push_back(key);
    while (!free.empty()) {
      const Key done = std::move(free.back());
      free.pop_back();
      waits_for.erase(done);
      for (const Key& key : next[done])
        if (--waits_for[key] == 0) free.push_back(key);
    }
    std::vector<std::string> names;
    names.reserve(waits_for.size());
    for (const auto& [key, count] : waits_for) names.push_back(printable(std::get<2>(key)));
    return names;
  }

 private:
  // Experiment, plan and workload: two plans may name theirs alike.
  using Key = std::tuple<std::int64_t, std::string, std::string>;
  static Key key_of(const WorkflowRun& run, const std::string& workload) {
    return {run.experiment, run.plan, workload};
  }

  // The same repetition of a workload, else its last one before.
  [[nodiscard]] const Key* find_repetition(const WorkflowRun& run, const std::string& name) const {
    for (int repetition = run.repetition; repetition >= 0; --repetition) {
      const std::string recorded = repetition == 0 ? name : fmt::format("{}#{}", name, repetition);
      const auto found = members_.find(key_of(run, recorded));
      if (found != members_.end()) return &found->first;
    }
    return nullptr;
  }

  std::map<Key, std::vector<std::size_t>> members_;
  std::map<Key, std::set<Key>> before_;
};

// True if a run could begin once `earlier` had ended.
bool ended_before(const WorkflowRun& earlier, const WorkflowRun& run) {
  return run_end_of(earlier.outcome) != RunEnd::kRunning && earlier.time.to <= run.time.to &&
         span_seconds(run.time.from, earlier.time.to) <= kClockSlack;
}

class WorkflowFinder {
 public:
  WorkflowFinder(std::span<const WorkflowRun> runs, Workflow& found)
      : runs_(runs), order_(runs), found_(found), by_begin_(runs.size()) {
    std::iota(by_begin_.begin(), by_begin_.end(), 0);
    std::ranges::stable_sort(by_begin_, [&](std::size_t a, std::size_t b) {
      return std::tie(runs_[a].time.from, runs_[a].id) < std::tie(runs_[b].time.from, runs_[b].id);
    });
    rank_.resize(runs.size());
    for (std::size_t i = 0; i < by_begin_.size(); ++i) rank_[by_begin_[i]] = i;
    by_end_ = by_begin_;
    std::ranges::stable_sort(by_end_, std::ranges::greater(),
                             [&](std::size_t i) { return runs_[i].time.to; });
  }

  [[nodiscard]] const WorkloadOrder& order() const { return order_; }

  void find_path() {
    const auto last = std::ranges::max_element(by_begin_, [&](std::size_t a, std::size_t b) {
      return std::pair(runs_[a].time.to, rank_[a]) < std::pair(runs_[b].time.to, rank_[b]);
    });
    for (std::optional<std::size_t> at = *last; at;) {
      const auto [before, link] = step_before(*at);
      const UtcTime from = before ? runs_[*before].time.to : found_.window.from;
      PathStep step{.run = *at, .link = link};
      step.wait_s = span_seconds(from, runs_[*at].time.from);
      step.seconds = span_seconds(std::max(from, runs_[*at].time.from), runs_[*at].time.to);
      found_.waiting_s += step.wait_s;
      found_.path.push_back(step);
      at = before;
    }
    std::ranges::reverse(found_.path);
  }

  void find_queue() {
    std::map<std::string, UtcTime> attempts;  // by row: the latest end so far
    for (const std::size_t i : by_begin_) {
      const WorkflowRun& run = runs_[i];
      UtcTime ready = found_.window.from;
      for (const auto& members : order_.before(run))
        for (const std::size_t one : members)
          if (rank_[one] < rank_[i] && ended_before(runs_[one], run))
            ready = std::max(ready, runs_[one].time.to);
      if (!run.row.empty()) {
        const auto [attempt, first] = attempts.try_emplace(run.row, run.time.to);
        if (!first) ready = std::max(ready, attempt->second);
        attempt->second = std::max(attempt->second, run.time.to);
      }
      found_.queue.push_back({.run = i, .seconds = span_seconds(ready, run.time.from)});
    }
    std::ranges::stable_sort(found_.queue, std::ranges::greater(), &QueueWait::seconds);
  }

  void find_hosts() {
    std::map<std::string, std::pair<HostUse, Window>> hosts;  // with what is busy up to now
    for (const std::size_t i : by_begin_) {
      const Window time = runs_[i].time;
      const auto [place, fresh] =
          hosts.try_emplace(runs_[i].host, std::pair(HostUse{.host = runs_[i].host}, time));
      auto& [use, span] = place->second;
      use.idle_s += span_seconds(span.to, time.from);
      span.to = std::max(span.to, time.to);
    }
    for (auto& [host, place] : hosts) {
      place.first.seconds = window_seconds(place.second);
      found_.hosts.push_back(std::move(place.first));
    }
  }

  void count_ends() {
    found_.repeated_by.resize(runs_.size());
    std::map<std::string, std::size_t> newest;  // by row
    for (const std::size_t i : by_begin_) {
      const WorkflowRun& run = runs_[i];
      const RunEnd end = run_end_of(run.outcome);
      ++found_.ends.at(static_cast<std::size_t>(end));
      found_.provisional = found_.provisional || end == RunEnd::kRunning;
      if (end == RunEnd::kFailed || end == RunEnd::kInterrupted) found_.lost_s += run_length(run);
      if (run.row.empty() || run.loop) continue;
      const auto [place, first] = newest.try_emplace(run.row, i);
      if (!first) found_.repeated_by[std::exchange(place->second, i)] = i;
    }
  }

 private:
  // The run that ended last before this one began; of several, one that it came after.
  [[nodiscard]] std::pair<std::optional<std::size_t>, PathLink> step_before(std::size_t of) const {
    const WorkflowRun& run = runs_[of];
    std::optional<std::size_t> best;
    const auto first = std::ranges::partition_point(by_end_, [&](std::size_t one) {
      return span_seconds(run.time.from, runs_[one].time.to) > kClockSlack;
    });
    for (auto at = first; at != by_end_.end(); ++at) {
      if (best && runs_[*at].time.to < runs_[*best].time.to) break;
      if (rank_[*at] >= rank_[of] || !ended_before(runs_[*at], run)) continue;
      if (order_.comes_after(run, runs_[*at])) return {*at, PathLink::kAfter};
      if (!best && runs_[*at].host == run.host) best = *at;
    }
    if (!best) return {std::nullopt, PathLink::kFirst};
    const bool same_row = !run.row.empty() && runs_[*best].row == run.row;
    return {best, same_row ? PathLink::kRepeat : PathLink::kTurn};
  }

  std::span<const WorkflowRun> runs_;
  WorkloadOrder order_;
  Workflow& found_;
  std::vector<std::size_t> by_begin_, by_end_;  // the earliest first; the latest first
  std::vector<std::size_t> rank_;               // by run: its place in by_begin_
};

// Adds the time of some lanes between two moments: evaluations and I/O apart, the rest to `stage`.
struct StagePiece {
  Window window;
  Stage stage = Stage::kTraining;
};
void add_stages(const Timeline& timeline, std::span<const std::size_t> lanes,
                const StagePiece& piece, StageTimes& times) {
  if (piece.window.from >= piece.window.to) return;
  PartsOfPhases parts(timeline);
  for (const std::size_t lane : lanes) {
    const auto add = [&](UtcTime from, UtcTime to, const TimelinePhase* phase) {
      const BoundPart part = parts.of(phase);
      const Stage of = part == BoundPart::kEvaluation ? Stage::kEvaluation
                       : part == BoundPart::kIo       ? Stage::kIo
                                                      : piece.stage;
      times.at(static_cast<std::size_t>(of)) += span_seconds(from, to);
    };
    walk_leaves(timeline.phases(lane), piece.window, add);
  }
}

}  // namespace

std::string_view run_end_name(RunEnd end) {
  constexpr std::array<std::string_view, 4> kNames = {"running", "finished", "failed",
                                                      "interrupted"};
  return kNames.at(static_cast<std::size_t>(end));
}

RunEnd run_end_of(std::string_view outcome) {
  constexpr std::array<std::string_view, 3> kAsPlanned = {"finished", "limit", "stopped"};
  if (outcome == "running") return RunEnd::kRunning;
  if (outcome == "interrupted" || outcome == "preempted" || outcome == "cancelled")
    return RunEnd::kInterrupted;
  return std::ranges::find(kAsPlanned, outcome) != kAsPlanned.end() ? RunEnd::kFinished
                                                                    : RunEnd::kFailed;
}

std::string_view path_link_name(PathLink link) {
  constexpr std::array<std::string_view, 4> kNames = {"first", "after", "repeat", "turn"};
  return kNames.at(static_cast<std::size_t>(link));
}

std::string_view stage_name(Stage stage) {
  constexpr std::array<std::string_view, kStages> kNames = {
      "wait", "preparation", "training", "evaluation", "i/o", "shutdown", "unknown"};
  return kNames.at(static_cast<std::size_t>(stage));
}

StageTimes stages_of_run(const Timeline& timeline, Window window) {
  StageTimes times{};
  const std::vector<std::size_t> training = training_lanes(find_leaves(timeline, window));
  std::optional<Window> steps;
  for (const std::size_t lane : training) {
    for (const TimelinePhase& phase : timeline.phases(lane)) {
      if (!timeline.is_unit(phase) || phase.end <= window.from || phase.begin >= window.to)
        continue;
      if (!steps) steps = Window{.from = phase.begin, .to = phase.end};
      *steps = {.from = std::min(steps->from, phase.begin), .to = std::max(steps->to, phase.end)};
    }
  }
  if (!steps) {
    times.at(static_cast<std::size_t>(Stage::kUnknown)) = window_seconds(window);
    return times;
  }
  const Window inner{.from = std::max(window.from, steps->from),
                     .to = std::min(window.to, steps->to)};
  add_stages(timeline, training, {{window.from, inner.from}, Stage::kPreparation}, times);
  add_stages(timeline, training, {inner, Stage::kTraining}, times);
  add_stages(timeline, training, {{inner.to, window.to}, Stage::kShutdown}, times);
  for (double& time : times) time /= static_cast<double>(training.size());
  return times;
}

Result<Workflow> find_workflow(std::span<const WorkflowRun> runs, bool planned) {
  Workflow found;
  if (runs.empty()) return found;
  found.window = runs.front().time;
  for (const WorkflowRun& run : runs)
    found.window = {.from = std::min(found.window.from, run.time.from),
                    .to = std::max(found.window.to, run.time.to)};
  found.makespan_s = window_seconds(found.window);
  WorkflowFinder finder(runs, found);
  if (const auto circle = finder.order().circle(); !circle.empty())
    return fail(Code::kUnprocessable,
                fmt::format("workloads of the plan come after each other: {}", join(circle, ", ")));
  finder.find_path();
  if (planned) finder.find_queue();
  finder.find_hosts();
  finder.count_ends();
  return found;
}

StageTimes stages_of_path(const Workflow& workflow,
                          std::span<const std::optional<StageTimes>> runs) {
  StageTimes all{};
  for (std::size_t i = 0; i < workflow.path.size(); ++i) {
    const PathStep& step = workflow.path[i];
    all.at(static_cast<std::size_t>(Stage::kWait)) += step.wait_s;
    const StageTimes* times = i < runs.size() && runs[i] ? &*runs[i] : nullptr;
    const double length = times != nullptr ? std::accumulate(times->begin(), times->end(), 0.0) : 0;
    if (!(length > 0)) {
      all.at(static_cast<std::size_t>(Stage::kUnknown)) += step.seconds;
      continue;
    }
    // A step may be shorter than its run, by the clocks' slack.
    for (std::size_t stage = 0; stage < kStages; ++stage)
      all[stage] += (*times)[stage] * (step.seconds / length);
  }
  return all;
}

}  // namespace corral::analyze
