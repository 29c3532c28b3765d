// Footprint: the energy of a run by component, per epoch, step and sample, as gCO2e and money; and
// its efficiency. docs/analysis.md defines every number.
//
// Energy is that of the sensors of the run's host (analyze/footprint/energy.h): the whole devices
// of its GPUs, and the host's packages and memory. A shared part is divided by a model, which is
// said. Nothing is assumed that the user did not give: without an intensity there is no gCO2e. A
// window under 1 s has no energy: counters are updated too seldom for it. Any thread.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analyze/footprint/efficiency.h"
#include "analyze/footprint/energy.h"
#include "analyze/footprint/footprint_data.h"
#include "analyze/left.h"
#include "core/result.h"
#include "store/reader.h"

namespace corral::analyze {

// Below this coverage a sentence says how much is missing.
inline constexpr double kLeastEnergyCover = 0.95;

struct UnitEnergy {
  WorkUnit unit;
  std::optional<double> joules;  // for one; nullopt: no energy, or no count
};

struct EnergyCost {
  std::optional<double> energy, time;  // in the user's currency
  [[nodiscard]] double total() const { return energy.value_or(0) + time.value_or(0); }
};

// Energy and time as emissions and money, as far as joules and prices are known.
struct Priced {
  std::optional<double> kwh;    // with the PUE, if there is one
  std::optional<double> grams;  // CO2e
  EnergyCost cost;
};
Priced price_of(const EnergyPrices& prices, std::optional<double> joules, double hours);

struct Footprint {
  Window window;
  bool provisional = false;  // the run is running
  std::vector<EnergyPart> parts;
  std::vector<std::pair<Component, std::string>> missing;  // with the reason
  std::optional<double> joules;  // GPU, CPU and DRAM; nullopt: none of them was measured
  bool modelled = false;         // one of them is split
  double coverage = 0;           // the least of theirs
  std::vector<UnitEnergy> units;
  EnergyPrices prices;
  std::optional<double> kwh;    // with the PUE, if there is one
  std::optional<double> grams;  // CO2e
  std::optional<EnergyCost> cost;
  Efficiency efficiency;
  std::vector<std::string> warnings;  // sentences
  std::string summary;
};

// Pure.
Footprint make_footprint(const FootprintData& data);

struct FootprintOptions {
  std::optional<UtcTime> from, to;  // default: the run's begin and end, which also bound them
  Left left = {};
  bool units = true;  // false: without units of work, for which steps and epochs are read
  const TrainingUnits* known_units = nullptr;  // as UnitsReading::known
};
// kInvalidArgument: an empty window.
Result<Footprint> find_footprint(const store::Reader& store, const store::Run& run,
                                 const FootprintOptions& options);

}  // namespace corral::analyze
