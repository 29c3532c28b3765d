// Typical and odd epochs: which epochs of a training lane are alike, which one stands for them, and
// which differ in what.
//
// An epoch's components are its length and the seconds of each of its leaves. Epochs are divided
// where their mean length changes for good (regimes), by more than 3 % and for at least kFewEpochs.
// In a regime of so many, an epoch is odd if a component lies further from the median than five
// standard deviations (1.4826 MAD each) and 3 % of the epoch. The typical one is the medoid of the
// others: the sum of its distances to them, over all leaves, is the least. Pure.
#pragma once

#include <cmath>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analyze/epochs.h"
#include "analyze/explain/leaves.h"

namespace corral::analyze {

inline constexpr std::size_t kFewEpochs = 8;
// The greatest leaves are components; the others together are one more.
inline constexpr std::size_t kMostComponents = 32;

struct EpochTimes {
  std::int64_t index = 0;  // its number, as charts have it
  Window window;
  std::vector<double> leaves;  // seconds, by leaf of LaneEpochs
};

struct LaneEpochs {
  std::vector<std::string> leaves;  // for people: "data wait", "untracked", "other phases"
  std::vector<EpochTimes> epochs;
  std::size_t left_out = 0;  // further ones
};
// `epochs` of the lane, by start, and apart. Those that have not ended or are not within the window
// do not count, nor do empty ones. Those after the first `most` are left out.
LaneEpochs collect_epochs(const Timeline& timeline, const LaneLeaves& lane, Window window,
                          std::span<const Epoch> epochs, std::size_t most);

// All but `leaf` are of the component that differs most.
struct OddEpoch {
  std::size_t epoch = 0;            // place in LaneEpochs
  std::optional<std::size_t> leaf;  // nullopt: its length, and no leaf
  double seconds = 0, usual = 0;    // usual: the median of its regime
  [[nodiscard]] double difference() const { return std::abs(seconds - usual); }
};

struct Regime {
  std::size_t first = 0, end = 0;             // places in LaneEpochs
  std::size_t alike = 0;                      // epochs that are not odd
  std::optional<std::size_t> typical;         // nullopt: none is alike
  double median_s = 0, p10_s = 0, p90_s = 0;  // lengths of those alike
  [[nodiscard]] std::size_t size() const { return end - first; }
  [[nodiscard]] bool is_compared() const { return size() >= kFewEpochs; }
};

struct TypicalEpochs {
  std::vector<Regime> regimes;  // all epochs, in order
  std::vector<OddEpoch> odd;    // by epoch
};
TypicalEpochs find_typical(const LaneEpochs& lane);

}  // namespace corral::analyze
