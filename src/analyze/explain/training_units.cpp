#include "analyze/explain/training_units.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "analyze/explain/stored_timeline.h"
#include "query/series/grid.h"

namespace corral::analyze {
namespace {

// Units that ended, without those inside others.
std::vector<Window> units_of_lane(const Timeline& timeline, std::size_t lane, Window window) {
  std::vector<Window> units;
  for (const TimelinePhase& phase : timeline.phases(lane)) {
    if (phase.open || phase.begin < window.from || phase.end > window.to) continue;
    if (!timeline.is_unit(phase)) continue;
    if (!units.empty() && phase.begin < units.back().to) continue;
    units.push_back({.from = phase.begin, .to = phase.end});
  }
  return units;
}

InterestColumns equal_columns(Window window) {
  const std::int64_t from = ns_of(window.from), to = ns_of(window.to);
  const auto width = static_cast<std::uint32_t>(
      std::min<std::uint64_t>(kInterestColumns, query::distance(from, to)));
  InterestColumns columns;
  if (width == 0) return columns;
  const query::Grid grid(from, to, width);
  for (std::uint32_t i = 0; i <= width; ++i) columns.borders.push_back(utc_time(grid.border(i)));
  return columns;
}

InterestColumns columns_of_units(const std::vector<Window>& units, Unit unit) {
  InterestColumns columns;
  columns.unit = unit;
  const std::size_t size = (units.size() + kInterestColumns - 1) / kInterestColumns;
  columns.units_in_column = size;
  for (std::size_t begin = 0; begin < units.size(); begin += size) {
    const std::size_t end = std::min(begin + size, units.size());
    double sum = 0;
    for (std::size_t i = begin; i < end; ++i) sum += seconds(units[i].length());
    columns.borders.push_back(units[begin].from);
    columns.unit_seconds.push_back(sum / static_cast<double>(end - begin));
  }
  columns.borders.push_back(units.back().to);
  return columns;
}

InterestColumns lay_columns(const Timeline& timeline, std::span<const LaneLeaves> lanes,
                            Window window) {
  // The first by name of two alike: other orders depend on what else was read.
  const auto less = [](const LaneLeaves& a, const LaneLeaves& b) {
    return std::tie(a.trains, a.in_steps, b.lane) < std::tie(b.trains, b.in_steps, a.lane);
  };
  const auto most = std::ranges::max_element(lanes, less);
  if (most == lanes.end() || !most->trains) return equal_columns(window);
  const std::vector<Window> units = units_of_lane(timeline, most->number, window);
  return units.size() < kLeastUnits ? equal_columns(window)
                                    : columns_of_units(units, timeline.unit());
}

}  // namespace

TrainingUnits find_training_units(const Timeline& timeline, std::span<const LaneLeaves> lanes,
                                  std::vector<EpochPhase> epochs, Window window) {
  TrainingUnits found{.window = window, .has_steps = timeline.unit() == Unit::kStep};
  for (const LaneLeaves& lane : lanes) {
    if (!lane.trains) continue;
    ++found.lanes;
    if (found.has_steps) found.steps = std::max(found.steps, lane.steps);
  }
  for (const Epoch& epoch : epochs_of_phases(std::move(epochs)).epochs)
    if (epoch.end && epoch.start >= ns_of(window.from) && *epoch.end <= ns_of(window.to))
      ++found.epochs;
  found.columns = lay_columns(timeline, lanes, window);
  return found;
}

Result<TrainingUnits> read_training_units(const store::Reader& store, const store::Run& run,
                                          const UnitsReading& reading) {
  const Window window = reading.window;
  if (reading.known != nullptr && reading.known->window == window) return *reading.known;
  std::vector<EpochPhase> epochs;
  const auto also = [&](const store::page::PhaseFields& phase) {
    if (auto epoch = as_epoch(phase)) epochs.push_back(*std::move(epoch));
  };
  const auto timeline =
      read_timeline(store, run, {.units_only = true, .left = reading.left, .also = also});
  if (!timeline && timeline.error().code == Code::kTooLarge)
    return TrainingUnits{.window = window, .too_many = true, .columns = equal_columns(window)};
  if (!timeline) return tl::unexpected(timeline.error());
  return find_training_units(*timeline, find_leaves(*timeline, window), std::move(epochs), window);
}

}  // namespace corral::analyze
