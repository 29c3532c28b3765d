// The metric catalogue: name, meaning and aggregation of each metric that Corral itself measures.
//
// One constexpr table (catalogue.cpp), the source for storage, API, page and docs. SI base units in
// storage; the unit is the stored value's. A counter only grows between resets; charts show its
// rate in `rate_unit`. Metrics that a script logs are not in the table: they are gauges of group
// "software" without a unit.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace corral::metric {

enum class Kind : std::uint8_t { kGauge = 0, kCounter = 1 };

// The ways in which values of several sources or runs may be combined.
enum class Aggregation : std::uint8_t {
  kMean = 0,        // averages make sense, sums do not (a percentage, a temperature)
  kSum = 1,         // sums make sense (bytes, cores used, joules)
  kSharedOnce = 2,  // the same physical thing seen by several runs: count it once
};

// The owner of a series: a run's own process tree, a workload, or a host with its devices. A host's
// series are one timeline, whichever runs measured it.
enum class Owner : std::uint8_t { kRun = 0, kWorkload = 1, kHost = 2 };

// "run", "workload", "host".
std::string_view owner_name(Owner owner);

struct Metric {
  std::string_view name;  // "host.cpu.busy": scope.thing.measure
  std::string_view unit;  // "s", "B", "" for counts; shown as is or scaled with SI / IEC prefixes
  std::string_view rate_unit;  // counters: "cores", "B/s", "1/s"; empty for gauges
  Kind kind;
  Aggregation aggregation;
  Owner owner;
  std::string_view group;  // software, cpu, gpu, memory, io, network, pressure, scheduler,
                           // energy, sensors, collector
  bool slow;  // sampled at 1 Hz (walks over single processes), else at the run's interval
  std::string_view describe;  // one sentence: the quantity, its source, its limits
};

inline constexpr std::string_view kClockOffset = "corral.clock.offset";
inline constexpr std::string_view kClockError = "corral.clock.error";

std::span<const Metric> catalogue();
// nullptr when Corral does not measure it itself.
const Metric* find_metric(std::string_view name);

}  // namespace corral::metric
