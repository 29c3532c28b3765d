// Energy: joules of a window by sensor (GPU, CPU package, DRAM, platform).
//
// An energy counter is preferred; without one, power is integrated, each reading over the time
// since the one before (as MLPerf Power does). If both exist, both are given: NVIDIA's power sensor
// sees 25 % of the time on A100 and H100 (arXiv 2312.02741). Time that no reading covers has no
// energy: nothing is extrapolated, and the gaps are named. All values are in equal columns of the
// window, so that a run's part may change with the runs that are there. Pure.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analyze/explain/leaves.h"
#include "query/series/integral.h"

namespace corral::analyze {

// In s; of any two times.
double window_seconds(Window window);
inline constexpr double kSecondsPerHour = 3600;

inline constexpr std::uint32_t kEnergyColumns = 1000;
inline constexpr std::size_t kMostEnergyGaps = 10;

// A series over the columns of a window: of a counter its increments, of a gauge value times s.
struct ColumnSeries {
  std::string metric, source;
  std::vector<query::IntegralCell> cells;
  [[nodiscard]] query::IntegralCell total() const;
};
const ColumnSeries* find_columns(std::span<const ColumnSeries> all, std::string_view metric,
                                 std::string_view source);

enum class Component : std::uint8_t { kGpu, kCpu, kDram, kPlatform };
std::string_view component_name(Component component);

enum class EnergyMethod : std::uint8_t { kCounter, kPower };
std::string_view energy_method_name(EnergyMethod method);

struct EnergyMetric {
  std::string_view metric;
  Component component;
  EnergyMethod method;
};
// By component, the preferred one first. The parts of a package (cores, uncore) are not among
// them.
inline constexpr auto kEnergyMetrics = std::to_array<EnergyMetric>(
    {{"host.gpu.energy", Component::kGpu, EnergyMethod::kCounter},
     {"host.gpu.power.samples", Component::kGpu, EnergyMethod::kPower},
     {"host.gpu.power", Component::kGpu, EnergyMethod::kPower},
     {"host.gpu.power.instant", Component::kGpu, EnergyMethod::kPower},
     {"host.energy.package", Component::kCpu, EnergyMethod::kCounter},
     {"host.energy.dram", Component::kDram, EnergyMethod::kCounter},
     {"host.energy.platform", Component::kPlatform, EnergyMethod::kCounter},
     {"host.power.sensor", Component::kPlatform, EnergyMethod::kPower},
     {"host.power.rail", Component::kPlatform, EnergyMethod::kPower}});

// The run's part of a shared sensor (analyze/footprint/split.h).
struct EnergySplit {
  double joules = 0;
  double share = 0;                   // part of the sensor, 0 to 1
  std::string by;                     // "CPU time", "SM activity x slices"
  std::optional<double> idle_w = {};  // power without runs, of which the run has its allocation
};

struct EnergyGap {
  Window window;  // whole columns
  double missing_s = 0;
};

struct EnergyPart {
  Component component = Component::kGpu;
  std::string source;
  EnergyMethod method = EnergyMethod::kCounter;
  std::string metric = {};
  double joules = 0;                 // the whole sensor's, while it was read
  double coverage = 0;               // part of the window, 0 to 1
  std::vector<EnergyGap> gaps = {};  // the longest first, from 1 s and 0.1 % of the window on
  // By power, over the time that both cover; nullopt: there is no other method.
  struct Other {
    std::string metric;
    double joules = 0;
    double difference = 0;  // to the counter, e.g. 0.05: 5 % more
  };
  std::optional<Other> other = {};
  std::optional<EnergySplit> split =
      {};  // nullopt: the run has it alone, or `unsplit` says why not
  std::string unsplit = {};
  std::vector<query::IntegralCell> cells = {};

  [[nodiscard]] double run_joules() const { return split ? split->joules : joules; }
};

// Sensors with readings in the window, by component, then source.
std::vector<EnergyPart> measure_energy(std::span<const ColumnSeries> series, Window window);

}  // namespace corral::analyze
