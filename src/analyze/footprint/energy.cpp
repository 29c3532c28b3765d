#include "analyze/footprint/energy.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "query/series/grid.h"

namespace corral::analyze {
namespace {

using query::IntegralCell;

// A column whose readings cover all but this part of it has no gap.
constexpr double kColumnSlack = 1e-6;
constexpr double kLeastGapShare = 1e-3;
constexpr double kLeastGap = 1;  // s

std::vector<EnergyGap> find_gaps(const std::vector<IntegralCell>& cells, Window window) {
  std::vector<EnergyGap> gaps;
  if (cells.empty() || window.from >= window.to) return gaps;
  const query::Grid grid(ns_of(window.from), ns_of(window.to),
                         static_cast<std::uint32_t>(cells.size()));
  bool open = false;
  for (std::uint32_t i = 0; i < cells.size(); ++i) {
    const Window column{.from = utc_time(grid.border(i)), .to = utc_time(grid.border(i + 1))};
    const double width = window_seconds(column);
    const double missing = width - cells[i].covered;
    if (missing <= width * kColumnSlack) {
      open = false;
      continue;
    }
    if (!open) gaps.push_back({.window = column});
    gaps.back().window.to = column.to;
    gaps.back().missing_s += missing;
    open = true;
  }
  const double least = std::max(kLeastGap, kLeastGapShare * window_seconds(window));
  std::erase_if(gaps, [&](const EnergyGap& gap) { return gap.missing_s < least; });
  std::ranges::stable_sort(gaps, std::ranges::greater(), &EnergyGap::missing_s);
  gaps.resize(std::min(gaps.size(), kMostEnergyGaps));
  return gaps;
}

// Both over the columns that both cover whole.
std::optional<EnergyPart::Other> compare(const EnergyPart& part, const ColumnSeries& power,
                                         double column_s) {
  double counted = 0, integrated = 0;
  for (std::size_t i = 0; i < std::min(part.cells.size(), power.cells.size()); ++i) {
    const double both = std::min(part.cells[i].covered, power.cells[i].covered);
    if (both < column_s * (1 - 1e-3)) continue;
    counted += part.cells[i].integral;
    integrated += power.cells[i].integral;
  }
  if (counted <= 0) return std::nullopt;
  return EnergyPart::Other{
      .metric = power.metric, .joules = integrated, .difference = integrated / counted - 1};
}

// Other meters may be at anything.
bool measures_machine(const ColumnSeries& series) {
  if (series.metric == "host.power.sensor") return series.source.starts_with("power_meter");
  return series.metric != "host.power.rail" || series.source == "VDD_IN";
}

EnergyPart make_part(const EnergyMetric& metric, const ColumnSeries& series, Window window) {
  const IntegralCell total = series.total();
  EnergyPart part{.component = metric.component,
                  .source = series.source,
                  .method = metric.method,
                  .metric = series.metric,
                  .joules = total.integral,
                  .gaps = find_gaps(series.cells, window),
                  .other = {},
                  .split = {},
                  .unsplit = {},
                  .cells = series.cells};
  const double length = window_seconds(window);
  part.coverage = length > 0 ? std::clamp(total.covered / length, 0.0, 1.0) : 0;
  return part;
}

}  // namespace

double window_seconds(Window window) {
  if (window.from >= window.to) return 0;
  return static_cast<double>(query::distance(ns_of(window.from), ns_of(window.to))) * 1e-9;
}

IntegralCell ColumnSeries::total() const {
  IntegralCell sum;
  for (const IntegralCell& cell : cells) {
    sum.integral += cell.integral;
    sum.covered += cell.covered;
    sum.least += cell.least;
    sum.most += cell.most;
  }
  return sum;
}

const ColumnSeries* find_columns(std::span<const ColumnSeries> all, std::string_view metric,
                                 std::string_view source) {
  const auto found = std::ranges::find_if(all, [&](const ColumnSeries& series) {
    return series.metric == metric && series.source == source;
  });
  return found == all.end() ? nullptr : &*found;
}

std::string_view component_name(Component component) {
  switch (component) {
    case Component::kGpu:
      return "gpu";
    case Component::kCpu:
      return "cpu";
    case Component::kDram:
      return "dram";
    case Component::kPlatform:
      return "platform";
  }
  return "";
}

std::string_view energy_method_name(EnergyMethod method) {
  return method == EnergyMethod::kCounter ? "counter" : "power";
}

std::vector<EnergyPart> measure_energy(std::span<const ColumnSeries> series, Window window) {
  std::map<std::pair<Component, std::string>, EnergyPart> parts;
  for (const EnergyMetric& metric : kEnergyMetrics) {
    for (const ColumnSeries& one : series) {
      const IntegralCell total = one.total();
      if (one.metric != metric.metric || total.covered <= 0 || !std::isfinite(total.integral) ||
          !measures_machine(one))
        continue;
      const auto [at, fresh] =
          parts.try_emplace({metric.component, one.source}, make_part(metric, one, window));
      EnergyPart& part = at->second;
      if (fresh || part.method != EnergyMethod::kCounter || part.other) continue;
      part.other =
          compare(part, one, window_seconds(window) / static_cast<double>(part.cells.size()));
    }
  }
  std::vector<EnergyPart> all;
  for (auto& [key, part] : parts) all.push_back(std::move(part));
  return all;
}

}  // namespace corral::analyze
