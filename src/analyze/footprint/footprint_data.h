// FootprintData: what a footprint is made from: series over the columns of a window, the runs
// beside the run, its units of work, and the prices that were recorded with it.
//
// Sources: the store, in a few snapshots. Constant; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analyze/explain/run_data.h"
#include "analyze/explain/training_units.h"
#include "analyze/footprint/energy.h"
#include "analyze/left.h"
#include "core/result.h"
#include "store/reader.h"

namespace corral::analyze {

inline constexpr double kShortestFootprint = 1;  // s
inline constexpr double kShortestIdle = 60;      // s
// Tag of a run that leaves its host idle, so that the idle power can be measured.
inline constexpr std::string_view kIdleTag = "corral.idle";

// A device or instance that a run was given: "gpu0", or "gpu0.mig1" with "3g.20gb".
struct GivenDevice {
  std::string source, profile;
};

// Another run on the host, as far as it overlaps with the window.
struct EnergyNeighbour {
  Window time;
  double cpus = 0;  // given to it; 0: all of the host's
  std::vector<GivenDevice> devices;
  std::vector<ColumnSeries> series;  // run.gpu.*
};

struct IdlePower {
  std::string run;                                    // the name of the one that measured it
  std::vector<std::pair<std::string, double>> watts;  // by package
};

struct WorkUnit {
  std::string name;             // "epoch", "step", "sample"
  std::optional<double> count;  // above 0
  std::string from;             // "phases", a metric; without a count the reason
};

// From [footprint] of corral.toml; what the user did not give is missing.
struct EnergyPrices {
  std::optional<double> pue;
  std::optional<double> intensity_g_per_kwh, intensity_year;
  std::string intensity_source;
  std::optional<double> price_per_kwh, price_per_hour;
  std::string currency;
};

struct FootprintData {
  Window window;
  std::vector<ColumnSeries> series;  // the run's and its host's
  std::vector<EnergyNeighbour> neighbours;
  std::size_t neighbours_left_out = 0;
  std::vector<GivenDevice> devices;
  double cpus = 0;         // that the run may use; 0: not recorded
  double host_cpus = 0;    // 0: not recorded
  double host_memory = 0;  // bytes; 0: not recorded
  std::optional<IdlePower> idle;
  std::vector<WorkUnit> units;
  EnergyPrices prices;
  RunData means;                         // memory, limits; and why metrics are missing
  std::vector<std::string> module_gpus;  // their power is the CPU's and the GPU's together
};

struct FootprintReading {
  Window window;
  Left left = {};
  bool units = true;  // false: without units of work, for which steps and epochs are read
  const TrainingUnits* known_units = nullptr;  // as UnitsReading::known
};
Result<FootprintData> read_footprint_data(const store::Reader& store, const store::Run& run,
                                          const FootprintReading& reading);

}  // namespace corral::analyze
