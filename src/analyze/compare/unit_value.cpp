#include "analyze/compare/unit_value.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <utility>

#include "analyze/explain/stored_timeline.h"
#include "core/text.h"
#include "metric/catalogue.h"

namespace corral::analyze {
namespace {

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

bool lies_apart(std::string_view type) {
  return std::ranges::any_of(split(type, '/'), [](std::string_view name) {
    return name == "checkpoint" || name == "evaluation" || name == "compile";
  });
}

// Lengths in s of the steps of all training lanes that begin in the window.
std::vector<double> lengths_of_steps(const SteadyRun& run, Window window) {
  std::vector<double> lengths;
  for (const std::size_t lane : run.lanes) {
    UtcTime end = UtcTime::min();
    for (const TimelinePhase& phase : run.timeline.phases(lane)) {
      if (phase.begin < window.from || phase.begin >= window.to) continue;
      if (phase.open || !run.timeline.is_unit(phase) || phase.begin < end) continue;
      lengths.push_back(seconds(phase.length()));
      end = phase.end;
    }
  }
  return lengths;
}

double stall_of(std::vector<double> lengths) {
  if (lengths.empty()) return 0;
  const auto middle = lengths.begin() + std::ssize(lengths) / 2;
  std::ranges::nth_element(lengths, middle);
  return *middle > 0 ? std::ranges::max(lengths) / *middle : 0;
}

// Means over the training lanes, by type; empty: no step lies in the window.
std::vector<TimePerStep> parts_of_step(const SteadyRun& run, Window window, double steps) {
  std::map<std::string, TimePerStep> by_type;
  std::vector<TimePerStep> parts;
  if (steps == 0) return parts;
  Nanos untracked{0};
  for (const LaneLeaves& lane : find_leaves(run.timeline, window)) {
    if (std::ranges::find(run.lanes, lane.number) == run.lanes.end()) continue;
    untracked += lane.start_up + lane.untracked + lane.shutdown;
    for (const Leaf& leaf : lane.leaves) {
      TimePerStep& part = by_type[leaf.type];
      part.name = leaf.name;
      part.type = leaf.type;
      part.seconds += seconds(leaf.total) / steps;
      part.apart = lies_apart(leaf.type);
    }
  }
  for (auto& [type, part] : by_type) parts.push_back(std::move(part));
  if (untracked > Nanos(0))
    parts.push_back({.name = "untracked", .type = {}, .seconds = seconds(untracked) / steps});
  std::ranges::stable_sort(parts, std::ranges::greater(), &TimePerStep::seconds);
  return parts;
}

double sum_of_parts(std::span<const TimePerStep> parts) {
  double sum = 0;
  for (const TimePerStep& part : parts) sum += part.apart ? 0 : part.seconds;
  return sum;
}

// ---- a unit

class UnitReader {
 public:
  UnitReader(const store::Reader& store, const UnitOptions& options)
      : store_(store), options_(options) {}

  Result<UnitValue> read(std::span<const store::Run* const> runs) {
    UnitValue unit;
    const store::Run& first = *runs.front();
    unit.name = runs.size() > 1 ? first.workload_name : first.name;
    unit.start = first.start;
    for (const store::Run* run : runs)
      unit.runs.push_back(
          {.id = run->id, .name = run->name, .host = run->host, .status = run->status});
    if (const auto lost = std::ranges::find_if(runs, not_finished); lost != runs.end()) {
      unit.reason = fmt::format("{}{}", runs.size() > 1 ? printable((*lost)->name) + ": " : "",
                                (*lost)->status == store::RunStatus::kRunning
                                    ? "it is still running"
                                    : fmt::format("it ended as {}", status_name((*lost)->status)));
      return unit;
    }
    if (options_.value.kind == ComparedValue::Kind::kDuration) {
      set_duration(runs, unit);
    } else {
      TRY(measure(runs, unit));
    }
    if (unit.value && !(std::isfinite(*unit.value) && *unit.value > 0)) {
      unit.reason = fmt::format("its value is {:g}: only positive ones have a ratio", *unit.value);
      unit.value.reset();
    }
    return unit;
  }

 private:
  static bool not_finished(const store::Run* run) {
    return run->status != store::RunStatus::kFinished || !run->end;
  }

  // That of a workload is its makespan.
  static void set_duration(std::span<const store::Run* const> runs, UnitValue& unit) {
    UtcTime end = *runs.front()->end;
    for (const store::Run* run : runs) end = std::max(end, *run->end);
    unit.window = {.from = unit.start, .to = end};
    unit.value = seconds(end - unit.start);
    unit.unit = "s";
  }

  Result<> measure(std::span<const store::Run* const> runs, UnitValue& unit) {
    std::vector<SteadyRun> steady;
    for (std::size_t i = 0; i < runs.size(); ++i) {
      steady.push_back(TRY(read_steady_run(store_, *runs[i], options_.left)));
      const SteadyPart& part = steady.back().steady;
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

  // Several runs make their steps beside each other: as many as all of them together in a second.
  static void set_step_time(const std::vector<SteadyRun>& runs, UnitValue& unit) {
    double rate = 0;
    for (const SteadyRun& run : runs) {
      const std::vector<double> lengths = lengths_of_steps(run, unit.window);
      std::vector<TimePerStep> parts =
          parts_of_step(run, unit.window, static_cast<double>(lengths.size()));
      unit.stall = std::max(unit.stall, stall_of(lengths));
      const double time = sum_of_parts(parts);
      if (!(time > 0)) {
        unit.reason = run.steady.reason.empty() ? "no step lies in the time" : run.steady.reason;
        return;
      }
      rate += 1 / time;
      if (runs.size() == 1) unit.parts = std::move(parts);
    }
    unit.value = 1 / rate;
    unit.unit = fmt::format("s/{}", unit_name(runs.front().steady.unit));
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
      if (!series.last || !series.source.empty()) continue;
      unit.unit = series.unit;
      return series.last;
    }
    unit.reason = fmt::format("it has no value of {} of its own", printable(options_.value.metric));
    return std::nullopt;
  }

  const store::Reader& store_;
  const UnitOptions& options_;
};

// The runs of a workload that were beside each other, and when the last of them ended.
struct Beside {
  std::size_t unit = 0;
  UtcTime end;
};

}  // namespace

std::string describe(const ComparedValue& value) {
  if (value.kind == ComparedValue::Kind::kStepTime) return "time per step";
  if (value.kind == ComparedValue::Kind::kDuration) return "duration";
  constexpr std::array<std::string_view, 4> kOf = {"mean", "least value", "greatest value",
                                                   "last value"};
  return fmt::format("{} of {}", kOf.at(static_cast<std::size_t>(value.of)), value.metric);
}

Result<std::vector<UnitValue>> read_units(const store::Reader& store,
                                          std::span<const store::Run> runs,
                                          const UnitOptions& options) {
  std::vector<const store::Run*> in_order;
  for (const store::Run& run : runs) in_order.push_back(&run);
  std::ranges::stable_sort(in_order, {}, [](const store::Run* run) { return run->start; });
  std::vector<std::vector<const store::Run*>> units;
  std::map<WorkloadId, Beside> latest;
  for (const store::Run* run : in_order) {
    const UtcTime end = run->end.value_or(UtcTime::max());
    const auto [found, fresh] = latest.try_emplace(run->workload, Beside{units.size(), end});
    Beside& beside = found->second;
    if (!fresh && run->start < beside.end) {
      beside.end = std::max(beside.end, end);
    } else {
      beside = {.unit = units.size(), .end = end};
      units.emplace_back();
    }
    units[beside.unit].push_back(run);
  }
  UnitReader reader(store, options);
  std::vector<UnitValue> values;
  for (const auto& unit : units) values.push_back(TRY(reader.read(unit)));
  return values;
}

}  // namespace corral::analyze
