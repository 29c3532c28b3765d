#include "analyze/compare/unit_value.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <map>
#include <set>
#include <unordered_map>
#include <utility>

#include "analyze/compare/set_up.h"
#include "analyze/explain/change_points.h"
#include "analyze/explain/explain.h"
#include "analyze/explain/stored_timeline.h"
#include "analyze/workflow.h"
#include "core/text.h"
#include "metric/catalogue.h"
#include "store/tables/health.h"
#include "store/tables/sharing.h"

namespace corral::analyze {
namespace {

constexpr std::size_t kMostUnitPhases = 4U << 20U;  // held together for the runs of a unit
constexpr std::size_t kLeastCommonSteps = 10;       // each run's, of a unit of several

struct SteadyRun {
  Timeline timeline;
  std::vector<std::size_t> lanes;  // that train
  SteadyPart steady;
};

Result<SteadyRun> read_steady_run(const store::Reader& store, const store::Run& run,
                                  const Left& left) {
  const Window whole{.from = run.start, .to = run.end.value_or(run.newest)};
  SteadyRun found;
  found.timeline = TRY(read_timeline(store, run, {.left = left}));
  found.lanes = training_lanes(find_leaves(found.timeline, whole));
  found.steady = find_steady_part(found.timeline, found.lanes, whole);
  return found;
}

// The plan, and the time for which it runs a workload, which the workload's name tells ("7#2"). A
// workload that was first to run once alone has no such name, but the number as a tag.
std::string block_of(const store::Run& run) {
  const std::string plan = tag_text(run, "corral.plan");
  const std::size_t sign = run.workload_name.rfind('#');
  const auto number =
      parse_int(sign != std::string::npos ? run.workload_name.substr(sign + 1)
                                          : tag_text(run, "corral.plan.repetition"));
  return plan.empty() || !number ? "" : fmt::format("{}#{}", plan, *number);
}

bool is_finished(const store::Run& run) {
  return run.status == store::RunStatus::kFinished && run.end;
}

// It finished, or its limit of time or its workload ended it.
bool ended_as_planned(const store::Run& run) {
  const std::string outcome = tag_text(run, "corral.outcome");
  const bool stopped = run.status == store::RunStatus::kStopped && run.end;
  return is_finished(run) || (stopped && run_end_of(outcome) == RunEnd::kFinished);
}

std::string how_it_ended(const store::Run& run) {
  if (run.status == store::RunStatus::kRunning) return "it is still running";
  if (run.status == store::RunStatus::kUnknown) return "its end is unknown";
  const std::string outcome = tag_text(run, "corral.outcome");
  return fmt::format("it ended as {}", outcome.empty() ? status_name(run.status) : outcome);
}

// In the order of their starts.
using RunPointers = std::vector<const store::Run*>;

bool starts_again(const store::Run* run) { return tag_text(*run, "corral.loop") == "1"; }

RunPointers without_rounds(std::span<const store::Run* const> runs) {
  RunPointers chosen;
  std::ranges::remove_copy_if(runs, std::back_inserter(chosen), starts_again);
  return chosen.empty() ? RunPointers(runs.begin(), runs.end()) : chosen;
}

// A run that started again until its workload ended has only the round that was longest beside the
// others.
RunPointers one_round_each(std::span<const store::Run* const> runs) {
  RunPointers chosen;
  std::map<std::string, RunPointers> rounds;  // by the row of the plan
  Window common{.from = UtcTime::min(), .to = UtcTime::max()};
  const auto beside = [&](const store::Run& run) {
    return Window{.from = std::max(common.from, run.start),
                  .to = std::min(common.to, run.end.value_or(run.newest))};
  };
  for (const store::Run* run : runs) {
    if (starts_again(run)) {
      rounds[tag_text(*run, "corral.plan.row")].push_back(run);
    } else {
      chosen.push_back(run);
      common = beside(*run);
    }
  }
  for (const auto& [row, all] : rounds) {
    const store::Run* longest = *std::ranges::max_element(all, {}, [&](const store::Run* run) {
      const Window window = beside(*run);
      return window.to - window.from;
    });
    chosen.push_back(longest);
    common = beside(*longest);
  }
  std::ranges::stable_sort(chosen, {}, [](const store::Run* run) { return run->start; });
  return chosen;
}

bool lies_apart(std::string_view type) { return std::ranges::any_of(split(type, '/'), is_apart); }

// The same by the number of a type, looked at once.
class ApartTypes {
 public:
  explicit ApartTypes(const Timeline& timeline) : timeline_(timeline) {}
  bool has(const TimelinePhase& phase) {
    const auto [found, fresh] = known_.try_emplace(phase.type, false);
    if (fresh) found->second = lies_apart(timeline_.text(phase.type));
    return found->second;
  }

 private:
  const Timeline& timeline_;
  std::unordered_map<TextNumber, bool> known_;
};

// Begins of the lane's steps in the window that have ended and lie in no other step and not apart.
std::vector<UtcTime> begins_of_steps(const Timeline& timeline, std::size_t lane, Window window) {
  ApartTypes apart(timeline);
  std::vector<UtcTime> begins;
  UtcTime end = UtcTime::min();
  for (const TimelinePhase& phase : timeline.phases(lane)) {
    if (phase.begin < window.from || phase.begin > window.to || phase.begin < end) continue;
    if (phase.open || !timeline.is_unit(phase) || apart.has(phase)) continue;
    begins.push_back(phase.begin);
    end = phase.end;
  }
  return begins;
}

// Time from each begin to the next one, without what lies apart, in s.
std::vector<double> lengths_between(const Timeline& timeline, std::size_t lane,
                                    std::span<const UtcTime> begins) {
  ApartTypes apart(timeline);
  std::vector<double> lengths(begins.size() - 1);
  std::size_t at = 0;
  const auto add = [&](UtcTime begin, UtcTime end, const TimelinePhase* phase) {
    const bool counts = phase == nullptr || !apart.has(*phase);
    while (begin < end) {
      while (begins[at + 1] <= begin) ++at;
      const UtcTime part_end = std::min(end, begins[at + 1]);
      if (counts) lengths[at] += seconds(part_end - begin);
      begin = part_end;
    }
  };
  walk_leaves(timeline.phases(lane), {.from = begins.front(), .to = begins.back()}, add);
  return lengths;
}

// Steps of a run from the begin of the first one to that of the last one, so that each has its
// waits with it, whether they come before or after it. Over the training lanes.
struct MeasuredSteps {
  std::size_t fewest = 0;          // in one lane
  std::vector<TimePerStep> parts;  // the greatest first
  double time = 0;                 // sum of the parts that do not lie apart, in s
  double stall = 0;
  bool many_types = false;  // the parts are not all known
};

MeasuredSteps measure_steps(const SteadyRun& run, Window window) {
  MeasuredSteps found;
  std::map<std::string, TimePerStep> by_type;
  std::vector<double> lengths;
  Nanos gaps{0};
  for (std::size_t i = 0; i < run.lanes.size(); ++i) {
    const std::vector<UtcTime> begins = begins_of_steps(run.timeline, run.lanes[i], window);
    const std::size_t steps = begins.empty() ? 0 : begins.size() - 1;
    found.fewest = i == 0 ? steps : std::min(found.fewest, steps);
    if (steps == 0) continue;
    const auto of_lane = lengths_between(run.timeline, run.lanes[i], begins);
    lengths.insert(lengths.end(), of_lane.begin(), of_lane.end());
    const LaneLeaves lane = find_leaves_of_lane(run.timeline, run.lanes[i],
                                                {.from = begins.front(), .to = begins.back()});
    gaps += lane.start_up + lane.untracked + lane.shutdown;
    for (const Leaf& leaf : lane.leaves) {
      found.many_types = found.many_types || leaf.type.empty();
      TimePerStep& part = by_type[leaf.type];
      part.name = leaf.name;
      part.type = leaf.type;
      part.seconds += seconds(leaf.total);
      part.apart = lies_apart(leaf.type);
    }
  }
  if (found.fewest == 0) return found;
  for (auto& [type, part] : by_type) found.parts.push_back(std::move(part));
  if (gaps > Nanos(0))
    found.parts.push_back({.name = "untracked", .type = {}, .seconds = seconds(gaps)});
  for (TimePerStep& part : found.parts) {
    part.seconds /= static_cast<double>(lengths.size());
    found.time += part.apart ? 0 : part.seconds;
  }
  std::erase_if(found.parts, [](const TimePerStep& part) { return part.seconds <= 0; });
  std::ranges::stable_sort(found.parts, std::ranges::greater(), &TimePerStep::seconds);
  if (const double median = quantile_of(lengths, 0.5); median > 0)
    found.stall = std::ranges::max(lengths) / median;
  return found;
}

// ---- a unit

class UnitReader {
 public:
  UnitReader(const store::Reader& store, const UnitOptions& options)
      : store_(store), options_(options) {}

  Result<UnitValue> read(std::span<const store::Run* const> all) {
    using Kind = ComparedValue::Kind;
    const Kind kind = options_.value.kind;
    // A value of the steady part does not depend on how far the run came.
    const bool steady = kind == Kind::kStepTime ||
                        (kind == Kind::kMetric && options_.value.of != ComparedValue::Of::kLast);
    const RunPointers runs = steady                  ? one_round_each(all)
                             : kind == Kind::kTarget ? without_rounds(all)
                                                     : RunPointers(all.begin(), all.end());
    UnitValue unit;
    const store::Run& first = *all.front();
    unit.name = all.size() > 1 ? first.workload_name : first.name;
    unit.block = block_of(first);
    unit.start = first.start;
    unit.beside = TRY(count_beside(all));
    for (const store::Run* run : runs)
      unit.runs.push_back(
          {.id = run->id, .name = run->name, .host = run->host, .status = run->status});
    for (const store::Run* run : all)
      if (std::ranges::find(runs, run) == runs.end())
        unit.runs.push_back({.id = run->id,
                             .name = run->name,
                             .host = run->host,
                             .status = run->status,
                             .left_out = true});
    if (kind == Kind::kTarget) {
      TRY(set_time_to_target(runs, unit));
      return unit;
    }
    const RunIds imported = kind == Kind::kMetric ? TRY(imported_without_end(all)) : RunIds();
    for (UnitRun& run : unit.runs) run.unknown_end = imported.contains(run.id);
    const auto counts = [&](const store::Run* run) {
      return imported.contains(run->id) || (steady ? ended_as_planned(*run) : is_finished(*run));
    };
    if (const auto lost = std::ranges::find_if_not(all, counts); lost != all.end()) {
      unit.reason = (all.size() > 1 ? printable((*lost)->name) + ": " : "") + how_it_ended(**lost);
      return unit;
    }
    if (kind == Kind::kDuration) {
      set_duration(runs, unit);
    } else {
      TRY(measure(runs, unit));
    }
    if (unit.value && !(std::isfinite(*unit.value) && *unit.value > 0)) {
      unit.measured = unit.value;
      unit.reason = fmt::format("its value is {:g}: only positive ones have a ratio", *unit.value);
      unit.value.reset();
    }
    return unit;
  }

 private:
  using RunIds = std::set<RunId>;

  // Imported runs whose source does not say how they ended. Runs that were recorded here and lost
  // sight of may have been cut short.
  Result<RunIds> imported_without_end(std::span<const store::Run* const> runs) {
    RunIds unknown;
    for (const store::Run* run : runs)
      if (run->status == store::RunStatus::kUnknown && run->end) unknown.insert(run->id);
    if (unknown.empty()) return unknown;
    RunIds found;
    const auto read = [&](store::Reading& reading) -> Result<> {
      for (const RunId run : unknown)
        if (TRY(store::page::is_imported(reading, run))) found.insert(run);
      return {};
    };
    TRY(store_.inspect(read));
    return found;
  }

  // Other runs of their workload that overlapped with them.
  Result<std::size_t> count_beside(std::span<const store::Run* const> runs) {
    const store::Run& first = *runs.front();
    if (first.workload_name.empty()) return std::size_t{0};
    const auto [place, fresh] = workloads_.try_emplace(first.workload);
    std::vector<TimedRun>& of_workload = place->second;
    if (fresh) {
      const auto read = [&](store::Reading& reading) -> Result<> {
        for (const store::page::SharingRun& run :
             TRY(store::page::runs_of_workload(reading, first.workload)))
          of_workload.push_back(
              {.id = run.id,
               .start = run.start,
               .end = run.status == store::RunStatus::kRunning ? UtcTime::max() : run.end});
        return {};
      };
      TRY(store_.inspect(read));
    }
    return static_cast<std::size_t>(std::ranges::count_if(of_workload, [&](const TimedRun& other) {
      const auto overlaps = [&](const store::Run* run) {
        return other.start < run->end.value_or(UtcTime::max()) && run->start < other.end;
      };
      const bool own =
          std::ranges::any_of(runs, [&](const store::Run* run) { return run->id == other.id; });
      return !own && std::ranges::any_of(runs, overlaps);
    }));
  }

  // Parts of the capture that the run's recording lacks.
  Result<std::string> find_uncaptured(RunId run) {
    std::vector<store::page::HealthPart> parts;
    const auto read = [&](store::Reading& reading) -> Result<> {
      parts = TRY(store::page::health_parts(reading, run));
      return {};
    };
    TRY(store_.inspect(read));
    for (const Unseen& unseen : find_unseen(parts))
      if (unseen.part.starts_with("capture")) return unseen.part + ": " + unseen.reason;
    return std::string();
  }

  // That of a workload is its makespan.
  static void set_duration(std::span<const store::Run* const> runs, UnitValue& unit) {
    UtcTime end = *runs.front()->end;
    for (const store::Run* run : runs) end = std::max(end, *run->end);
    unit.window = {.from = unit.start, .to = end};
    unit.value = seconds(end - unit.start);
    unit.unit = "s";
  }

  // That of a workload is its last run's; it missed the target when the first of its runs did.
  Result<> set_time_to_target(std::span<const store::Run* const> runs, UnitValue& unit) {
    unit.unit = "s";
    UtcTime reached = unit.start;
    std::optional<UtcTime> missed;
    for (const store::Run* run : runs) {
      TRY(check_waiting(options_.left));
      const TargetSearch found = TRY(search_target(store_, run->id, options_.value.target));
      if (!found.has_values) {
        unit.reason = no_own_value(options_.value.target.metric);
        return {};
      }
      if (!found.reached && !run->end) {
        unit.reason = "it is still running";
        return {};
      }
      const UtcTime end = run->end.value_or(run->newest);
      if (found.reached) {
        reached = std::max(reached, *found.reached);
      } else {
        missed = std::min(missed.value_or(end), end);
      }
    }
    unit.window = {.from = unit.start, .to = missed.value_or(reached)};
    if (missed) {
      unit.missed_s = seconds(*missed - unit.start);
      unit.reason = "it did not reach the target";
    } else {
      unit.value = seconds(reached - unit.start);
    }
    return {};
  }

  static std::string no_own_value(std::string_view metric) {
    return fmt::format("it has no value of {} of its own", printable(metric));
  }

  Result<> measure(std::span<const store::Run* const> runs, UnitValue& unit) {
    std::vector<SteadyRun> steady;
    std::size_t phases = 0;
    for (std::size_t i = 0; i < runs.size(); ++i) {
      auto read = read_steady_run(store_, *runs[i], options_.left);
      if (!read && read.error().code == Code::kTooLarge) {
        unit.reason = read.error().message;
        return {};
      }
      steady.push_back(TRY(std::move(read)));
      phases += steady.back().timeline.count();
      if (phases > kMostUnitPhases) {
        unit.reason = fmt::format("its runs have more than {} phases together", kMostUnitPhases);
        return {};
      }
      const SteadyPart& part = steady.back().steady;
      unit.runs[i].steps = static_cast<std::size_t>(part.left_out + part.steps);
      unit.runs[i].uncaptured = TRY(find_uncaptured(runs[i]->id));
    }
    if (runs.size() > 1) find_parts_together(runs, steady);
    for (std::size_t i = 0; i < runs.size(); ++i) {
      const SteadyPart& part = steady[i].steady;
      if (!part.steady) unit.runs[i].unsteady = part.reason;
      unit.window.from = i == 0 ? part.window.from : std::max(unit.window.from, part.window.from);
      unit.window.to = i == 0 ? part.window.to : std::min(unit.window.to, part.window.to);
    }
    if (unit.window.from >= unit.window.to) {
      unit.reason = runs.size() > 1 ? "its runs were never steady at the same time"
                                    : "it has no time that could be measured";
      return {};
    }
    if (options_.value.kind == ComparedValue::Kind::kStepTime) {
      set_step_time(steady, unit);
    } else {
      TRY(set_metric(runs, unit));
    }
    if (runs.size() == 1 && !options_.means.empty())
      unit.means = TRY(RunData::read(store_, *runs.front(), unit.window, options_.means));
    return {};
  }

  // A run beside another one goes faster once that one ended: only what is steady while all of them
  // train counts.
  static void find_parts_together(std::span<const store::Run* const> runs,
                                  std::vector<SteadyRun>& steady) {
    Window common{.from = UtcTime::min(), .to = UtcTime::max()};
    const auto narrow = [&](UtcTime from, UtcTime to) {
      common = {.from = std::max(common.from, from), .to = std::min(common.to, to)};
    };
    for (std::size_t i = 0; i < runs.size(); ++i) {
      const Window whole{.from = runs[i]->start, .to = runs[i]->end.value_or(runs[i]->newest)};
      narrow(whole.from, whole.to);
      for (const std::size_t lane : steady[i].lanes) {
        const auto begins = begins_of_steps(steady[i].timeline, lane, whole);
        if (!begins.empty()) narrow(begins.front(), begins.back());
      }
    }
    if (common.from >= common.to) return;
    for (SteadyRun& run : steady) run.steady = find_steady_part(run.timeline, run.lanes, common);
  }

  // Several runs make their steps beside each other: as many as all of them together in a second.
  static void set_step_time(const std::vector<SteadyRun>& runs, UnitValue& unit) {
    double rate = 0;
    const std::string_view name = unit_name(runs.front().steady.unit);
    for (std::size_t i = 0; i < runs.size(); ++i) {
      const SteadyRun& run = runs[i];
      MeasuredSteps steps = measure_steps(run, unit.window);
      if (run.steady.steps == 0) {
        unit.reason = run.steady.reason;
      } else if (run.steady.unit != runs.front().steady.unit) {
        unit.reason = "some of its runs have steps, others only epochs";
      } else if (steps.many_types) {
        unit.reason = fmt::format("it has more than {} kinds of phases", kMostLeaves);
      } else if (runs.size() > 1 && steps.fewest < kLeastCommonSteps) {
        unit.reason =
            fmt::format("its runs had fewer than {} {}s at the same time", kLeastCommonSteps, name);
      } else if (steps.fewest == 0 || !(steps.time > 0)) {
        unit.reason = fmt::format("it has fewer than two {}s to measure", name);
      }
      if (!unit.reason.empty()) {
        for (UnitRun& one : unit.runs) one.step_s.reset();
        return;
      }
      rate += 1 / steps.time;
      unit.runs[i].step_s = steps.time;
      unit.stall = std::max(unit.stall, steps.stall);
      if (runs.size() == 1) unit.parts = std::move(steps.parts);
    }
    unit.value = 1 / rate;
    unit.unit = fmt::format("s/{}", name);
  }

  Result<> set_metric(std::span<const store::Run* const> runs, UnitValue& unit) {
    double sum = 0;
    for (const store::Run* run : runs) {
      const std::optional<double> value = options_.value.of == ComparedValue::Of::kLast
                                              ? TRY(last_value(*run, unit))
                                              : TRY(mean_over(*run, unit));
      if (!value) return {};
      sum += *value;
    }
    unit.value = sum / static_cast<double>(runs.size());
    return {};
  }

  Result<std::optional<double>> mean_over(const store::Run& run, UnitValue& unit) {
    const std::string_view metric = options_.value.metric;
    const RunData data = TRY(RunData::read(store_, run, unit.window, std::span(&metric, 1)));
    const auto all = data.all_of(metric);
    if (all.empty()) {
      unit.reason = fmt::format("{}: {}", printable(options_.value.metric), data.why_not(metric));
      return std::nullopt;
    }
    unit.unit = all.front().unit;
    double sum = 0, least = all.front().least, most = all.front().most;
    for (const MetricMean& one : all) {
      sum += one.mean;
      least = std::min(least, one.least);
      most = std::max(most, one.most);
    }
    if (options_.value.of == ComparedValue::Of::kLeast) return least;
    if (options_.value.of == ComparedValue::Of::kMost) return most;
    const metric::Metric* known = metric::find_metric(options_.value.metric);
    const bool adds = known != nullptr && known->aggregation == metric::Aggregation::kSum;
    return adds ? sum : sum / static_cast<double>(all.size());
  }

  Result<std::optional<double>> last_value(const store::Run& run, UnitValue& unit) {
    for (const store::Series& series : TRY(store_.series_of(run.id))) {
      if (series.name != options_.value.metric || series.owner != metric::Owner::kRun) continue;
      if (series.points == 0 || !series.source.empty()) continue;
      if (series.ends_nan) {
        unit.reason = fmt::format("its last value of {} is NaN or infinite",
                                  printable(options_.value.metric));
        return std::nullopt;
      }
      unit.unit = series.unit;
      return series.last;
    }
    unit.reason = no_own_value(options_.value.metric);
    return std::nullopt;
  }

  const store::Reader& store_;
  const UnitOptions& options_;
  struct TimedRun {
    RunId id;
    UtcTime start, end;  // UtcTime::max(): it is running
  };
  std::map<WorkloadId, std::vector<TimedRun>> workloads_;
};

// The runs of a workload that were beside each other, and when the last of them ended.
struct Beside {
  std::size_t unit = 0;
  UtcTime end;
};

}  // namespace

void drop_other_unit(UnitValue& value, const std::string& unit) {
  if (!value.value || value.unit == unit) return;
  value.value.reset();
  value.reason =
      fmt::format("its value is in {}, others are in {}", printable(value.unit), printable(unit));
}

std::string describe(const ComparedValue& value) {
  if (value.kind == ComparedValue::Kind::kStepTime) return "time per step";
  if (value.kind == ComparedValue::Kind::kDuration) return "duration";
  if (value.kind == ComparedValue::Kind::kTarget) return "time to " + print_target(value.target);
  constexpr std::array<std::string_view, 4> kOf = {"mean over time", "least value",
                                                   "greatest value", "last value"};
  return fmt::format("{} of {}", kOf.at(static_cast<std::size_t>(value.of)), value.metric);
}

Result<std::vector<UnitValue>> read_units(const store::Reader& store,
                                          std::span<const store::Run> runs,
                                          const UnitOptions& options) {
  // Rounds of one run are of one unit, even where what they ran beside is not in the group.
  std::map<std::pair<WorkloadId, std::string>, std::size_t> rounds;  // by the row of the plan
  RunPointers in_order;
  for (const store::Run& run : runs) in_order.push_back(&run);
  std::ranges::stable_sort(in_order, {}, [](const store::Run* run) { return run->start; });
  std::vector<RunPointers> units;
  std::map<WorkloadId, Beside> latest;
  for (const store::Run* run : in_order) {
    const UtcTime end = run->end.value_or(UtcTime::max());
    const auto [found, fresh] = latest.try_emplace(run->workload, Beside{units.size(), end});
    Beside& beside = found->second;
    const std::pair row(run->workload, tag_text(*run, "corral.plan.row"));
    const auto earlier = starts_again(run) ? rounds.find(row) : rounds.end();
    if (!fresh && run->start < beside.end) {
      beside.end = std::max(beside.end, end);
    } else if (earlier != rounds.end()) {
      beside = {.unit = earlier->second, .end = end};
    } else {
      beside = {.unit = units.size(), .end = end};
      units.emplace_back();
    }
    if (starts_again(run)) rounds[row] = beside.unit;
    units[beside.unit].push_back(run);
  }
  UnitReader reader(store, options);
  std::vector<UnitValue> values;
  for (const auto& unit : units) values.push_back(TRY(reader.read(unit)));
  return values;
}

}  // namespace corral::analyze
