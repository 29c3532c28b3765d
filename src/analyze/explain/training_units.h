// Training units: how many steps and epochs a run made in a window, and columns of about equally
// many of them, over which metrics are compared.
//
// The columns are those of the training lane with most time in steps, so many steps together that
// there are at most kInterestColumns, where it has kLeastUnits or more (epochs in a run without
// steps); else equal times. Sources: the run's steps and epochs. Any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "analyze/epochs.h"
#include "analyze/explain/leaves.h"
#include "analyze/left.h"
#include "core/result.h"
#include "store/reader.h"

namespace corral::analyze {

inline constexpr std::size_t kInterestColumns = 1024;
inline constexpr std::size_t kLeastUnits = 64;

struct InterestColumns {
  std::vector<UtcTime> borders;      // one more than there are columns
  std::optional<Unit> unit;          // nullopt: columns of equal time
  std::size_t units_in_column = 0;   // the last one may have fewer
  std::vector<double> unit_seconds;  // mean length of each column's units; empty without
  [[nodiscard]] std::size_t size() const { return borders.empty() ? 0 : borders.size() - 1; }
};

struct TrainingUnits {
  Window window;
  std::int64_t steps = 0;   // the most that one training lane made; 0 in a run without steps
  std::int64_t epochs = 0;  // that lie in the window
  std::size_t lanes = 0;    // that train
  bool has_steps = false;   // the run has some, maybe outside of the window
  bool too_many = false;    // more than are counted: the numbers are 0
  InterestColumns columns = {};
};

// `lanes`: all of the timeline, in the same window.
TrainingUnits find_training_units(const Timeline& timeline, std::span<const LaneLeaves> lanes,
                                  std::vector<EpochPhase> epochs, Window window);

struct UnitsReading {
  Window window;
  Left left = {};
  const TrainingUnits* known = nullptr;  // counted before; null: nothing was
};
// Those that are known, if they are of this window; else from the store, in a snapshot of its own.
Result<TrainingUnits> read_training_units(const store::Reader& store, const store::Run& run,
                                          const UnitsReading& reading);

}  // namespace corral::analyze
