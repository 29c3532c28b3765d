#include "analyze/footprint/group_footprint.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

#include "core/text.h"

namespace corral::analyze {
namespace {

bool windows_meet(Window a, Window b) { return a.from < b.to && b.from < a.to; }

// By run, the runs of `of` that met it, itself first.
std::vector<Window> windows_met(std::span<const GroupedRun> runs, std::span<const std::size_t> of,
                                std::size_t own) {
  std::vector<Window> windows = {runs[own].footprint.window};
  for (const std::size_t one : of)
    if (one != own && windows_meet(runs[one].footprint.window, windows.front()))
      windows.push_back(runs[one].footprint.window);
  return windows;
}

// The run's part of one sensor that other runs of the group had in the same way.
double divided_joules(const EnergyPart& part, std::span<const Window> windows) {
  const std::vector<double> parts = equal_parts(windows, 0, part.cells.size());
  double joules = 0;
  for (std::size_t i = 0; i < parts.size(); ++i) joules += part.cells[i].integral * parts[i];
  return joules;
}

struct SensorUser {
  std::size_t run = 0;
  const EnergyPart* part = nullptr;
};

// Sensors of hosts, each with the runs that had it.
using Sensors = std::map<std::tuple<std::string, Component, std::string>, std::vector<SensorUser>>;

class FootprintAdder {
 public:
  FootprintAdder(std::span<const GroupedRun> runs, GroupFootprint& found)
      : runs_(runs), found_(found) {
    found_.joules.resize(runs.size());
  }

  void add_sensors() {
    Sensors sensors;
    for (std::size_t i = 0; i < runs_.size(); ++i)
      for (const EnergyPart& part : runs_[i].footprint.parts)
        if (part.component != Component::kPlatform && runs_[i].footprint.joules)
          sensors[{runs_[i].host, part.component, part.source}].push_back({i, &part});
    for (const auto& [key, users] : sensors)
      if (add_sensor(users))
        found_.divided.push_back(printable(std::get<2>(key)) + " of " +
                                 printable(std::get<0>(key)));
  }

  void add_sums() {
    double covered = 0, measured_s = 0;
    for (std::size_t i = 0; i < runs_.size(); ++i) {
      const Footprint& one = runs_[i].footprint;
      if (found_.joules[i]) {
        measured_s += window_seconds(one.window);
        covered += window_seconds(one.window) * one.coverage;
      }
      add_run(i, found_.all);
      if (runs_[i].lost) add_run(i, found_.lost);
    }
    if (measured_s > 0) found_.coverage = covered / measured_s;
  }

 private:
  // True: its energy was divided.
  bool add_sensor(const std::vector<SensorUser>& users) {
    std::vector<std::size_t> numbers;
    numbers.reserve(users.size());
    bool split = true;
    for (const SensorUser& user : users) numbers.push_back(user.run);
    std::vector<std::vector<Window>> met;
    for (const SensorUser& user : users) {
      met.push_back(windows_met(runs_, numbers, user.run));
      if (met.back().size() > 1) split = split && user.part->split;
    }
    bool divided = false;
    for (std::size_t i = 0; i < users.size(); ++i) {
      const bool whole = met[i].size() > 1 && !split;
      const EnergyPart& part = *users[i].part;
      auto& joules = found_.joules[users[i].run];
      joules = joules.value_or(0) + (whole ? divided_joules(part, met[i]) : part.run_joules());
      divided = divided || whole;
      found_.modelled = found_.modelled || whole || part.split;
    }
    return divided;
  }

  void add_run(std::size_t run, EnergySum& sum) const {
    const Footprint& one = runs_[run].footprint;
    const double length = window_seconds(one.window);
    const double hours = one.prices.price_per_hour ? length / kSecondsPerHour * host_part(run) : 0;
    const Priced priced = price_of(one.prices, found_.joules[run], hours);
    ++sum.runs;
    sum.seconds += length;
    sum.measured += found_.joules[run].has_value();
    sum.joules += found_.joules[run].value_or(0);
    sum.kwh += priced.kwh.value_or(0);
    sum.with_grams += priced.grams.has_value();
    sum.grams += priced.grams.value_or(0);
    if (!priced.cost.energy && !priced.cost.time) return;
    ++sum.with_cost;
    GroupCost& cost = cost_in(sum, one.prices.currency);
    if (priced.cost.energy) cost.energy = cost.energy.value_or(0) + *priced.cost.energy;
    if (priced.cost.time) cost.time = cost.time.value_or(0) + *priced.cost.time;
  }

  // The run's part of its host's hours.
  [[nodiscard]] double host_part(std::size_t run) const {
    std::vector<std::size_t> beside;
    for (std::size_t i = 0; i < runs_.size(); ++i)
      if (runs_[i].host == runs_[run].host && runs_[i].footprint.prices.price_per_hour)
        beside.push_back(i);
    return equal_parts(windows_met(runs_, beside, run), 0, 1).front();
  }

  static GroupCost& cost_in(EnergySum& sum, const std::string& currency) {
    const auto found = std::ranges::find(sum.costs, currency, &GroupCost::currency);
    return found != sum.costs.end() ? *found
                                    : sum.costs.emplace_back(GroupCost{.currency = currency});
  }

  std::span<const GroupedRun> runs_;
  GroupFootprint& found_;
};

}  // namespace

std::vector<double> equal_parts(std::span<const Window> windows, std::size_t own,
                                std::size_t columns) {
  std::vector<double> parts(columns, 1);
  const Window mine = windows[own];
  const double width =
      window_seconds(mine) / static_cast<double>(std::max<std::size_t>(columns, 1));
  if (!(width > 0) || windows.size() < 2) return parts;
  // Windows that open (+1) and close (-1), in seconds since the own one's begin.
  std::multimap<double, int> borders;
  for (const Window& one : windows) {
    const double end = window_seconds({.from = mine.from, .to = std::min(one.to, mine.to)});
    const double begin = window_seconds({.from = mine.from, .to = one.from});
    if (begin >= end) continue;
    borders.emplace(begin, 1);
    borders.emplace(end, -1);
  }
  auto next = borders.begin();
  int open = 0;
  for (std::size_t i = 0; i < columns; ++i) {
    const double end = width * static_cast<double>(i + 1);
    double at = width * static_cast<double>(i), part = 0;
    while (next != borders.end() && next->first < end) {
      if (next->first > at) {
        part += (next->first - at) / std::max(open, 1);
        at = next->first;
      }
      open += next->second;
      ++next;
    }
    part += (end - at) / std::max(open, 1);
    parts[i] = part / width;
  }
  return parts;
}

GroupFootprint add_footprints(std::span<const GroupedRun> runs) {
  GroupFootprint found;
  FootprintAdder adder(runs, found);
  adder.add_sensors();
  adder.add_sums();
  return found;
}

}  // namespace corral::analyze
