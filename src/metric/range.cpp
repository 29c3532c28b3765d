#include "metric/range.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <limits>
#include <string_view>

namespace corral::metric {
namespace {

constexpr double kAnything = std::numeric_limits<double>::max();
// A whole, plus the rounding of a driver's percentages.
constexpr double kWhole = 1.000001;

struct Named {
  std::string_view name;  // a unit or a metric
  Range range;
};

// Gauges by unit; those of other units are at least 0.
constexpr auto kOfUnits = std::to_array<Named>({
    {"share", {0, kWhole}},
    {"Cel", {-40, 150}},
    {"W", {0, 100e3}},  // a meter may stand before a whole rack
    {"Hz", {0, 20e9}},
    {"rpm", {0, 100e3}},
    {"B", {0, 100e15}},  // "none" and "unknown" are 2^63 or 2^64 less a little
    {"B/s", {0, 100e12}},
});

constexpr auto kOfMetrics = std::to_array<Named>({
    {"corral.clock.offset", {-1e9, 1e9}},
    {"host.gpu.performance_state", {0, 15}},
    {"host.gpu.power", {0, 5e3}},
    {"host.gpu.power.instant", {0, 5e3}},
    {"host.gpu.power.limit", {0, 5e3}},
    {"host.gpu.power.samples", {0, 5e3}},
    {"host.power.rail", {-1, 1e3}},    // a meter's zero may lie a little below it
    {"run.gpu.busy", {0, kAnything}},  // a sum over processes
    {"run.pmu.counted_share", {0, kWhole}},
});

constexpr Range kNotNegative{0, kAnything};

}  // namespace

Range plausible_range(const Metric& metric) {
  const auto* own = std::ranges::find(kOfMetrics, metric.name, &Named::name);
  if (own != kOfMetrics.end()) return own->range;
  if (metric.kind == Kind::kCounter) return kNotNegative;
  const auto* of_unit = std::ranges::find(kOfUnits, metric.unit, &Named::name);
  return of_unit != kOfUnits.end() ? of_unit->range : kNotNegative;
}

std::string words(const Range& range, const Metric& metric) {
  std::string unit = metric.unit.empty() ? "" : " " + std::string(metric.unit);
  if (unit == " Cel") unit = " °C";  // UCUM's code is not for people
  if (range.most == kAnything) return fmt::format("at least {:g}{}", range.least, unit);
  return fmt::format("{:g} to {:g}{}", range.least, range.most, unit);
}

}  // namespace corral::metric
