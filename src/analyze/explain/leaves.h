// Leaves: where a lane's time went. At each moment the innermost open phase has the time; so the
// shares of a lane add up to its whole.
//
// Time in no phase lies before the first step (start-up), after the last one (shutdown), or between
// (untracked). A step's own time, in none of its inner phases, is the forward pass and what no hook
// sees. The training lane of a rank is the one with most time in steps: shares of a run are means
// over its training lanes, and other lanes are listed but never added. Pure; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analyze/explain/timeline.h"

namespace corral::analyze {

struct Window {
  UtcTime from, to;
  [[nodiscard]] Nanos length() const { return to - from; }
  bool operator==(const Window&) const = default;
};

// Calls `each(begin, end, phase)` for the pieces of the window in order; `phase` is null where none
// is open. If phases cross, the later one has the time.
template <class Each>
void walk_leaves(std::span<const TimelinePhase> lane, Window window, Each each) {
  std::vector<const TimelinePhase*> open;
  UtcTime at = window.from;
  const auto give = [&](UtcTime end, const TimelinePhase* phase) {
    end = std::min(end, window.to);
    if (end <= at) return;
    each(at, end, phase);
    at = end;
  };
  const auto advance = [&](UtcTime to) {
    while (!open.empty() && open.back()->end <= to) {
      give(open.back()->end, open.back());
      open.pop_back();
    }
    give(to, open.empty() ? nullptr : open.back());
  };
  for (const TimelinePhase& phase : lane) {
    if (phase.begin >= window.to) break;
    advance(phase.begin);
    open.push_back(&phase);
  }
  advance(window.to);
}

// The leaves of a lane beyond this number are one: "other phases", without a type.
inline constexpr std::size_t kMostLeaves = 1000;

struct Leaf {
  std::string type;  // path of names
  std::string name;  // for people: "data wait", "forward and rest"
  codec::PhaseKind kind = codec::PhaseKind::kCompute;
  Nanos total{0};
  std::int64_t phases = 0;  // that begin in the window
};

struct LaneLeaves {
  std::size_t number = 0;  // in the timeline
  std::string lane;
  bool trains = false;     // the training lane of its rank
  std::int64_t steps = 0;  // those inside another step are not counted
  Nanos in_steps{0};
  std::vector<Leaf> leaves;  // the greatest total first
  Nanos start_up{0}, untracked{0}, shutdown{0};
};

// Training lanes first, then by time in phases.
std::vector<LaneLeaves> find_leaves(const Timeline& timeline, Window window);
// One lane, by its number; `trains` is not known.
LaneLeaves find_leaves_of_lane(const Timeline& timeline, std::size_t lane, Window window);
// The numbers of those that train.
std::vector<std::size_t> training_lanes(std::span<const LaneLeaves> lanes);

}  // namespace corral::analyze
