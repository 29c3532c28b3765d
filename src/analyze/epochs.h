// Epochs of a run: when each began and ended, so that charts can be drawn over epochs and aligned
// on one of them.
//
// From phases: those in lanes of the lowest rank (lanes without a rank come last), except epochs
// that begin before the previous one ends, inside it or in another process. From a metric `epoch`:
// epoch k lasts from the last point of the previous epoch to its own last point; the first begins
// with the run. So the script may log it once at each end or with every step. A metric with
// fractions (0.98, 1.0) counts completed epochs: 1.0 ends epoch 0. Any thread. Only buckets of a
// metric's pyramid in which an epoch changes are opened.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "store/model/point_view.h"
#include "store/tables/phases.h"

namespace corral::analyze {

inline constexpr std::size_t kMostEpochs = 200'000;

struct Epoch {
  std::int64_t index = 0;
  std::int64_t start = 0;                // UTC, ns
  std::optional<std::int64_t> end = {};  // nullopt: it has not ended
  bool operator==(const Epoch&) const = default;
};
struct Epochs {
  std::vector<Epoch> epochs;  // by start
  bool more = false;          // than kMostEpochs
};

struct EpochPhase {
  std::string lane;  // host/[rankN/]process/thread
  std::int64_t start = 0;
  std::optional<std::int64_t> end = {};
  std::optional<std::int64_t> index = {};  // from its name or an attribute
};

// The rank in a lane "host/rankN/process/thread"; nullopt: it has none.
std::optional<std::int64_t> lane_rank(std::string_view lane);

// "epoch", "Epoch 3", "epoch_3": whether a phase of this name is an epoch, and its number if the
// name has one.
struct EpochName {
  bool is_epoch = false;
  std::optional<std::int64_t> index = {};
};
EpochName epoch_name(std::string_view name);
// nullopt: the phase is no epoch.
std::optional<EpochPhase> as_epoch(const store::page::NamedPhase& phase);
std::optional<EpochPhase> as_epoch(const store::page::PhaseFields& phase);

// Epochs without an index are counted from the one before (the first is 0).
Epochs epochs_of_phases(std::vector<EpochPhase> phases);
// `start`: of the run. Values that are not finite or below 0 are passed over.
Result<Epochs> epochs_of_metric(store::PointView& view, SeriesId series, std::int64_t start);

}  // namespace corral::analyze
