// Interest: which series of a run, and which stretches of it, are worth a look.
//
// Every series of the run, its workload and its host is brought to at most kInterestColumns columns
// of means (counters: of rates) and classed. Columns are steps of the training lane, so many
// together that they fit, where it has kLeastUnits or more (epochs in a run without steps); else
// equal times. A metric that follows the course of steps has no period then. Sources: the store,
// one snapshot for the phases and one for each 64 series, from the pyramids where that suffices.
// Memory: 2 KiB per series. Any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analyze/explain/regions.h"
#include "analyze/explain/series_class.h"
#include "analyze/left.h"
#include "core/result.h"
#include "store/reader.h"

namespace corral::analyze {

inline constexpr std::size_t kMostInterestSeries = 2048;  // the first ones
inline constexpr std::size_t kInterestColumns = 1024;
inline constexpr std::size_t kLeastUnits = 64;

struct InterestOptions {
  std::optional<UtcTime> from, to;  // default: the run's begin and end, which also bound them
  Left left = {};
};

// The columns of a window.
struct InterestColumns {
  std::vector<UtcTime> borders;      // one more than there are columns
  std::optional<Unit> unit;          // nullopt: columns of equal time
  std::size_t units_in_column = 0;   // the last one may have fewer
  std::vector<double> unit_seconds;  // mean length of each column's units; empty without
  [[nodiscard]] std::size_t size() const { return borders.empty() ? 0 : borders.size() - 1; }
};
// By the training lane with most time in steps.
InterestColumns lay_columns(const Timeline& timeline, Window window);

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
