// Attribution: how much of a metric each type of phases used, from its samples and the phases that
// were open meanwhile.
//
// The use of a phase of one type is taken as constant. Non-negative least squares over the samples
// gives it, with a background that is always there (time in no phase has that alone). These weights
// are the variable demands by which each sample is spread over its window (water_filling.h) and
// split; so the parts, the background and what found no room add up to the total. The 95 % interval
// of a weight is that of a circular block bootstrap of the fit without bounds, wider by Student's t
// where pieces or blocks are few. A type whose
// interval is wider than ±10 % of what is used (the capacity, or twice the 99th percentile of the
// samples if that is less; without a capacity their range from the 1st to the 99th) is refused, and
// so is a background, which the phases then include.
// Units: the metric's. Pure; any thread.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analyze/explain/leaves.h"
#include "analyze/explain/water_filling.h"

namespace corral::analyze {

// A mean over [begin, end).
struct UseSample {
  UtcTime begin, end;
  double value = 0;
};

// The types beyond the greatest ones are one: "other phases".
inline constexpr std::size_t kMostTypes = 32;

enum class Grain : std::uint8_t {
  kLeaves,
  kUnits,  // all in a step is the step's, the rest of an epoch the epoch's
};

struct PhaseType {
  std::string type, name;   // path of names; for people
  Nanos total{0};           // sum over the lanes
  std::int64_t pieces = 0;  // that this time is in
  std::int64_t times = 0;   // pieces of the lane with most: ranks may do all of it together
};

// The type that each lane is in, over time.
class Activity {
 public:
  static constexpr std::size_t kColumns = kMostTypes + 1;
  // By type: the lanes that are in it.
  using State = std::array<std::uint16_t, kColumns>;
  struct Stretch {
    State state{};
    double seconds = 0;
  };

  // `lanes`: numbers in the timeline, at most 65,535.
  static Activity find(const Timeline& timeline, std::span<const std::size_t> lanes, Window window,
                       Grain grain);
  [[nodiscard]] std::span<const PhaseType> types() const { return types_; }
  // Calls `each(i, stretches)` for each sample in turn: its window by state, each state once. The
  // samples ascend and do not overlap.
  using Each = std::function<void(std::size_t, std::span<const Stretch>)>;
  void each_window(std::span<const UseSample> samples, const Each& each) const;

 private:
  static constexpr std::uint8_t kNone = 255;
  // From then on the lane, by a number of its own here, is in the type; kNone: in no phase.
  struct Change {
    UtcTime time;
    std::uint16_t lane = 0;
    std::uint8_t type = kNone;
  };

  std::vector<PhaseType> types_;
  std::vector<Change> changes_;  // by time
  std::size_t lanes_ = 0;
};

struct AttributedPart {
  PhaseType type;
  double use = 0;   // its part of the total
  double mean = 0;  // while a phase is open
  double low = 0, high = 0;
  std::string reason;  // why it is not identifiable; empty: it is
  [[nodiscard]] bool is_identifiable() const { return reason.empty(); }
};

struct Attribution {
  double total = 0;  // mean over the samples' windows
  double background = 0;
  std::optional<double> background_low, background_high;  // nullopt: it is not identifiable
  std::string background_reason;
  double unplaced = 0;
  std::vector<AttributedPart> parts;  // the greatest use first
  std::size_t samples = 0;
  double window_s = 0;  // mean length of a sample's window
  double capacity = kNoCapacity;
  double limit = 0;  // the greatest half-width of an interval
  // The use of all types that are not identifiable: known together, but not apart.
  [[nodiscard]] double not_identifiable() const;
};

// Samples that are not finite, empty, or begin before the previous one ends are left out.
Attribution attribute(const Activity& activity, std::span<const UseSample> samples,
                      double capacity = kNoCapacity);

}  // namespace corral::analyze
