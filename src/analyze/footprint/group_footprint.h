// Group footprint: the energy of the runs of a plan, workload or experiment together: joules, CO2e
// and money, with the runs that failed apart, and the runs without energy counted.
//
// Sensors that runs of the group had together count once. A sensor that was split among them gives
// each its part (analyze/footprint/split.h). Any other sensor is whole in the footprint of each of
// them: its energy is then divided equally among those that were there at the moment. So is the
// price of a host's hours. Sensors that other programs used, too, are whole, as in a run's
// footprint. Pure; any thread.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analyze/footprint/footprint.h"

namespace corral::analyze {

// Parts of each of `columns` equal pieces of windows[own] that it has: the mean of 1 / (windows
// that are open).
std::vector<double> equal_parts(std::span<const Window> windows, std::size_t own,
                                std::size_t columns);

struct GroupedRun {
  std::string host;
  bool lost = false;  // it failed or was interrupted
  Footprint footprint;
};

struct GroupCost {
  std::string currency;
  std::optional<double> energy = {}, time = {};  // nullopt: no run has a price for it
};

struct EnergySum {
  std::size_t runs = 0, measured = 0, with_grams = 0, with_cost = 0;
  double seconds = 0;  // the runs' lengths
  double joules = 0;   // the measured ones'
  double kwh = 0;      // with each run's PUE
  double grams = 0;
  std::vector<GroupCost> costs;  // by currency
};

struct GroupFootprint {
  EnergySum all, lost;                        // `lost` is part of `all`
  std::vector<std::optional<double>> joules;  // by run
  bool modelled = false;                      // something was split or divided
  double coverage = 0;               // mean of the measured runs', by their time; 0 without any
  std::vector<std::string> divided;  // "package-0 of node7": counted once
};

GroupFootprint add_footprints(std::span<const GroupedRun> runs);

}  // namespace corral::analyze
