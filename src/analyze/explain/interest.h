// Interest: which series of a run, and which stretches of it, are worth a look.
//
// Every series of the run, its workload and its host is brought to at most kInterestColumns columns
// of means (counters: of rates) and classed. If the columns are steps (training_units.h), a
// metric that follows the course of steps has no period. Sources: the store, one snapshot for the
// phases and one for each 64 series, from the pyramids where that suffices. Memory: 2 KiB per
// series. Any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analyze/explain/regions.h"
#include "analyze/explain/series_class.h"
#include "analyze/explain/training_units.h"
#include "analyze/left.h"
#include "core/result.h"
#include "store/reader.h"

namespace corral::analyze {

inline constexpr std::size_t kMostInterestSeries = 2048;  // the first ones

struct InterestOptions {
  std::optional<UtcTime> from, to;  // default: the run's begin and end, which also bound them
  Left left = {};
  const TrainingUnits* known_units = nullptr;  // as UnitsReading::known
};

struct SeriesInterest {
  std::optional<SeriesId> id;          // nullopt: the lengths of steps ("step time")
  std::string metric, source, unit;    // unit: of the means
  std::optional<std::size_t> of = {};  // kDuplicate: place of the series that it is folded under
  SeriesShape shape = {};
  std::optional<double> step_correlation = {};  // Spearman's, with the step time
  double interest = 0;                          // 0 to 1
};

struct Interest {
  Window window;
  bool provisional = false;  // the run is running
  InterestColumns columns;
  std::vector<SeriesInterest> series;  // the greatest interest first, folded ones last
  std::vector<Region> regions;         // their series are places in `series`
  std::size_t left_out = 0;            // further series
};

// kInvalidArgument: an empty window.
Result<Interest> find_interest(const store::Reader& store, const store::Run& run,
                               const InterestOptions& options);

}  // namespace corral::analyze
