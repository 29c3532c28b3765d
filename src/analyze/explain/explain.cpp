#include "analyze/explain/explain.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <utility>

#include "analyze/explain/stored_timeline.h"
#include "core/text.h"
#include "store/tables/health.h"

namespace corral::analyze {
namespace {

struct Recorded {
  Timeline timeline;
  std::vector<store::page::HealthPart> health;
  std::vector<EpochPhase> epochs;
  DeviceRecord devices;
};

Result<Recorded> read_recorded(const store::Reader& store, const store::Run& run,
                               const Left& left) {
  Recorded recorded;
  const auto also = [&](const store::page::PhaseFields& phase) {
    recorded.devices.add({.begin = phase.start,
                          .end = phase.end,
                          .name = phase.name,
                          .lane = phase.lane,
                          .attributes = phase.attributes,
                          .kind = phase.kind});
    if (auto epoch = as_epoch(phase)) recorded.epochs.push_back(*std::move(epoch));
  };
  const auto read = [&](store::Reading& reading) -> Result<> {
    recorded.timeline = TRY(read_timeline(reading, run, {.left = left, .also = also}));
    recorded.health = TRY(store::page::health_parts(reading, run.id));
    return {};
  };
  TRY(store.inspect(read));
  recorded.timeline.set_clocks(TRY(HostClocks::read(store, run, left)));
  return recorded;
}

// Means over the training lanes; leaves of one type are one part.
std::vector<TimePart> make_parts(const std::vector<LaneLeaves>& lanes, Window window) {
  std::map<std::pair<std::string, codec::PhaseKind>, TimePart> leaves;
  TimePart start_up{.kind = TimePart::Kind::kStartUp, .name = "start-up", .type = {}};
  TimePart untracked{.kind = TimePart::Kind::kUntracked, .name = "untracked", .type = {}};
  TimePart shutdown{.kind = TimePart::Kind::kShutdown, .name = "shutdown", .type = {}};
  double training = 0;
  for (const LaneLeaves& lane : lanes) {
    if (!lane.trains) continue;
    training += 1;
    start_up.seconds += seconds(lane.start_up);
    untracked.seconds += seconds(lane.untracked);
    shutdown.seconds += seconds(lane.shutdown);
    for (const Leaf& leaf : lane.leaves) {
      TimePart& part = leaves[{leaf.type, leaf.kind}];
      part.name = leaf.name;
      part.type = leaf.type;
      part.phase_kind = leaf.kind;
      part.seconds += seconds(leaf.total);
      part.phases += leaf.phases;
    }
  }
  std::vector<TimePart> parts;
  if (training == 0) return parts;
  for (auto& [key, part] : leaves) parts.push_back(std::move(part));
  for (TimePart* part : {&start_up, &untracked, &shutdown})
    if (part->seconds > 0) parts.push_back(std::move(*part));
  for (TimePart& part : parts) {
    part.seconds /= training;
    part.share = part.seconds / seconds(window.length());
  }
  std::erase_if(parts, [](const TimePart& part) { return part.seconds <= 0; });
  std::ranges::stable_sort(parts, std::ranges::greater(), &TimePart::share);
  return parts;
}

std::vector<EpochsOfLane> compare_epochs(const Recorded& recorded,
                                         const std::vector<LaneLeaves>& lanes, Window window) {
  std::map<std::string, std::vector<EpochPhase>> by_lane;
  for (const EpochPhase& phase : recorded.epochs) by_lane[phase.lane].push_back(phase);
  std::vector<EpochsOfLane> compared;
  std::size_t left = kMostComparedEpochs;
  for (const LaneLeaves& lane : lanes) {
    const auto phases = by_lane.find(lane.lane);
    if (!lane.trains || phases == by_lane.end()) continue;
    const Epochs epochs = epochs_of_phases(std::move(phases->second));
    EpochsOfLane one{.lane = lane.lane, .times = {}, .found = {}};
    one.times = collect_epochs(recorded.timeline, lane, window, epochs.epochs, left);
    left -= one.times.epochs.size();
    if (one.times.epochs.empty() && one.times.left_out == 0) continue;
    one.found = find_typical(one.times);
    for (EpochTimes& epoch : one.times.epochs) epoch.leaves = {};
    compared.push_back(std::move(one));
  }
  return compared;
}

double greatest_difference(const EpochsOfLane& lane) {
  double greatest = 0;
  for (const OddEpoch& odd : lane.found.odd) greatest = std::max(greatest, odd.difference());
  return greatest;
}

// "199 of 200 epochs are alike; epoch 57 differs most: 5 s of data wait, usually 2 s."
std::string summarize_epochs(const std::vector<EpochsOfLane>& lanes) {
  if (lanes.empty()) return "";
  const EpochsOfLane& lane = *std::ranges::max_element(lanes, {}, greatest_difference);
  std::size_t alike = 0, compared = 0, regimes = 0;
  for (const Regime& regime : lane.found.regimes) {
    if (!regime.is_compared()) continue;
    alike += regime.alike;
    compared += regime.size();
    ++regimes;
  }
  if (compared == 0) return "";
  std::string text = fmt::format(" {} of {} epochs{} are alike{}", alike, compared,
                                 lanes.size() > 1 ? " of " + lane.lane : "",
                                 regimes > 1 ? fmt::format(" within {} regimes", regimes) : "");
  if (lane.found.odd.empty()) return text + ".";
  const OddEpoch& most = *std::ranges::max_element(lane.found.odd, {}, &OddEpoch::difference);
  const std::string of = most.leaf ? " of " + lane.times.leaves[*most.leaf] : "";
  return text + fmt::format("; epoch {} differs most: {}{}, usually {}.",
                            lane.times.epochs[most.epoch].index, precise_duration(most.seconds), of,
                            precise_duration(most.usual));
}

std::string summarize(const Explanation& found) {
  if (found.lanes.empty()) return "No phases lie in this time, so nothing tells where it went.";
  if (found.parts.empty())
    return fmt::format("No steps {}lie in this time, so no lane is known to train.",
                       found.steady.unit == Unit::kStep ? "" : "or epochs ");
  constexpr std::size_t kMost = 3;
  std::vector<std::string> texts;
  for (const TimePart& part : found.parts) {
    if (texts.size() == kMost) break;
    texts.push_back(fmt::format("{:.1f} % {}", part.share * 100, part.name));
  }
  std::string text = fmt::format("Of the training's time: {}.", join(texts, ", "));
  if (found.bottleneck) text += " " + found.bottleneck->text;
  if (found.slow_rank) text += " " + found.slow_rank->text;
  return text + summarize_epochs(found.epochs);
}

Finding odd_finding(const EpochsOfLane& lane, const OddEpoch& odd) {
  const EpochTimes& epoch = lane.times.epochs[odd.epoch];
  const std::string leaf = odd.leaf ? lane.times.leaves[*odd.leaf] : "";
  return {.id = fmt::format("odd epoch {} of {}", epoch.index, lane.lane),
          .kind = "odd epoch",
          .lane = lane.lane,
          .phase = leaf,
          .window = epoch.window,
          .seconds = odd.difference(),
          .text = fmt::format("Epoch {} differs: {}{}, usually {}.", epoch.index,
                              precise_duration(odd.seconds), leaf.empty() ? "" : " of " + leaf,
                              precise_duration(odd.usual)),
          .hint = {}};
}

std::vector<Finding> rank_findings(const Explanation& found) {
  std::vector<Finding> findings;
  for (const EpochsOfLane& lane : found.epochs)
    for (const OddEpoch& odd : lane.found.odd) findings.push_back(odd_finding(lane, odd));
  std::ranges::stable_sort(findings, std::ranges::greater(), &Finding::seconds);
  findings.resize(std::min(findings.size(), kMostOddFindings));
  if (const auto& bound = found.bottleneck) {
    const std::string_view part = bound_part_name(bound->part);
    findings.push_back({.id = fmt::format("bottleneck {} {}", part, bound->phase),
                        .kind = "bottleneck",
                        .lane = {},
                        .phase = bound->phase,
                        .window = found.steady.window,
                        .seconds = bound->share * seconds(found.steady.window.length()),
                        .text = bound->text,
                        .hint = bound->hint});
  }
  if (const auto& slow = found.slow_rank) {
    findings.push_back({.id = fmt::format("slow rank {}", slow->rank),
                        .kind = "slow rank",
                        .lane = slow->lane,
                        .phase = {},
                        .window = found.steady.window,
                        .seconds = slow->late_s * static_cast<double>(slow->steps),
                        .text = slow->text,
                        .hint = {}});
  }
  for (Finding& finding : findings)
    finding.share = std::min(1.0, finding.seconds / seconds(found.window.length()));
  std::ranges::stable_sort(findings, std::ranges::greater(), &Finding::seconds);
  return findings;
}

// Without a wanted one: those with phases in the window.
Result<> choose_lanes(std::vector<LaneLeaves>& lanes, const std::string& wanted) {
  if (wanted.empty()) {
    std::erase_if(lanes, [](const LaneLeaves& lane) { return lane.leaves.empty(); });
    return {};
  }
  std::erase_if(lanes, [&](const LaneLeaves& lane) { return lane.lane != wanted; });
  if (lanes.empty())
    return fail(Code::kNotFound, fmt::format("the run has no lane '{}'", printable(wanted)));
  lanes.front().trains = true;
  return {};
}

struct PartInSteady {
  const Left& left;
  std::span<const LaneLeaves> lanes;
  Window window;
  BoundPart part = BoundPart::kWork;
  std::vector<std::string_view> metrics;
};

// Use within the part that bounds, as far as samples and traces tell it from the rest of the steady
// part.
Result<SeenUse> read_seen(const store::Reader& store, const store::Run& run,
                          const Recorded& recorded, const PartInSteady& steady) {
  const Window window = steady.window;
  SeenUse seen{.devices = find_device_time(recorded.devices, window)};
  const bool traced = !seen.devices.empty() && steady.part == BoundPart::kWait;
  if (steady.metrics.empty() && !traced) return seen;
  const std::vector<Window> stretches =
      find_stretches(recorded.timeline, training_lanes(steady.lanes), window, steady.part);
  seen.in_part =
      TRY(read_part_use(store, run, stretches, {.metrics = steady.metrics, .left = steady.left}));
  if (!traced) return seen;
  for (PartUse& use : trace_use(recorded.devices, stretches))
    seen.in_part.push_back(std::move(use));
  return seen;
}

std::string unknown_clocks(const std::vector<std::string>& hosts) {
  std::string names = hosts.front();
  if (hosts.size() > 1) names += fmt::format(" and {} more", hosts.size() - 1);
  return fmt::format("that of {} was not measured, so only the ranks of each host are compared",
                     names);
}

Result<> judge_steady_part(const store::Reader& store, const store::Run& run,
                           const Recorded& recorded, const Left& left, Explanation& found) {
  if (found.steady.steps == 0) return {};
  const Timeline& timeline = recorded.timeline;
  std::vector<LaneLeaves> lanes = find_leaves(timeline, found.steady.window);
  std::vector<bool> trains(timeline.lanes());
  for (const std::size_t number : training_lanes(found.lanes)) trains[number] = true;
  for (LaneLeaves& lane : lanes) lane.trains = trains[lane.number];
  const RunData data = TRY(RunData::read(store, run, found.steady.window, bottleneck_metrics()));
  const GivenToRun given{.cpus = allowed_cpus(run),
                         .steady = found.steady.steady,
                         .unit = found.steady.unit,
                         .links = link_speeds(run)};
  const BoundPart part = bound_part(lanes);
  const SeenUse seen = TRY(read_seen(store, run, recorded,
                                     {.left = left,
                                      .lanes = lanes,
                                      .window = found.steady.window,
                                      .part = part,
                                      .metrics = part_metrics(part, data, given)}));
  found.bottleneck = find_bottleneck(lanes, data, given, seen);
  found.slow_rank = find_slow_rank(timeline, lanes, found.steady.window);
  if (const auto hosts = hosts_without_clock(timeline, lanes); !hosts.empty())
    found.unseen.push_back({.part = "clocks of hosts", .reason = unknown_clocks(hosts)});
  found.what_if = find_what_if(timeline, lanes, found.steady.window,
                               find_cpu_demand(lanes, data, given, found.bottleneck));
  return {};
}

}  // namespace

std::vector<Unseen> find_unseen(const std::vector<store::page::HealthPart>& health) {
  std::vector<Unseen> unseen;
  for (const store::page::HealthPart& part : health) {
    if (!part.troubled()) continue;
    const auto state = codec::kHealthStates.at(static_cast<std::size_t>(part.latest().state));
    std::string reason(state);
    if (!part.latest().reason.empty()) reason += ": " + part.latest().reason;
    unseen.push_back(
        {.part = part.process.empty() ? part.part : fmt::format("{} ({})", part.part, part.process),
         .reason = std::move(reason)});
  }
  return unseen;
}

std::string_view time_part_name(TimePart::Kind kind) {
  switch (kind) {
    case TimePart::Kind::kLeaf:
      return "leaf";
    case TimePart::Kind::kStartUp:
      return "start-up";
    case TimePart::Kind::kUntracked:
      return "untracked";
    case TimePart::Kind::kShutdown:
      return "shutdown";
  }
  return "";
}

Result<Explanation> explain_run(const store::Reader& store, const store::Run& run,
                                const ExplainOptions& options) {
  const UtcTime end = run.end.value_or(run.newest);
  Explanation found;
  found.window = {.from = std::max(run.start, options.from.value_or(run.start)),
                  .to = std::min(end, options.to.value_or(end))};
  found.provisional = !run.end;
  if (!options.from && !options.to && found.window.from >= found.window.to) {
    found.summary = "The run has just begun.";
    return found;
  }
  if (found.window.from >= found.window.to)
    return fail(Code::kInvalidArgument, "the time to explain is empty: it ends before it begins");
  const Recorded recorded = TRY(read_recorded(store, run, options.left));
  TRY(check_waiting(options.left));
  found.unseen = find_unseen(recorded.health);
  found.lanes = find_leaves(recorded.timeline, found.window);
  found.units = find_training_units(recorded.timeline, found.lanes, recorded.epochs, found.window);
  TRY(choose_lanes(found.lanes, options.lane));
  found.parts = make_parts(found.lanes, found.window);
  TRY(check_waiting(options.left));
  found.steady = find_steady_part(recorded.timeline, training_lanes(found.lanes), found.window);
  TRY(judge_steady_part(store, run, recorded, options.left, found));
  TRY(check_waiting(options.left));
  found.epochs = compare_epochs(recorded, found.lanes, found.window);
  found.findings = rank_findings(found);
  found.devices = find_device_time(recorded.devices, found.window);
  found.summary = summarize(found);
  if (found.lanes.size() > kMostLanes) {
    found.lanes_left_out = found.lanes.size() - kMostLanes;
    found.lanes.resize(kMostLanes);
  }
  return found;
}

}  // namespace corral::analyze
