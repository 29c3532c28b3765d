#include "analyze/explain/leaves.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_set>
#include <utility>

#include "analyze/epochs.h"

namespace corral::analyze {
namespace {

struct Steps {
  std::int64_t count = 0;
  Nanos total{0};
  UtcTime first = UtcTime::max(), last = UtcTime::min();
};

Steps find_steps(const Timeline& timeline, std::span<const TimelinePhase> lane, Window window) {
  Steps steps;
  for (const TimelinePhase& phase : lane) {
    if (!timeline.is_unit(phase) || phase.begin < steps.last) continue;
    const Nanos inside = std::min(phase.end, window.to) - std::max(phase.begin, window.from);
    if (inside <= Nanos(0)) continue;
    ++steps.count;
    steps.total += inside;
    steps.first = std::min(steps.first, phase.begin);
    steps.last = std::max(steps.last, phase.end);
  }
  return steps;
}

class LaneSums {
 public:
  LaneSums(const Timeline& timeline, std::size_t lane, Window window)
      : timeline_(timeline), phases_(timeline.phases(lane)), window_(window) {
    result_.number = lane;
    result_.lane = timeline.lane(lane);
    steps_ = find_steps(timeline, phases_, window);
    result_.steps = steps_.count;
    result_.in_steps = steps_.total;
  }

  LaneLeaves sum() && {
    walk_leaves(phases_, window_, [this](UtcTime begin, UtcTime end, const TimelinePhase* phase) {
      if (phase == nullptr) return add_gap(begin, end);
      leaves_[{phase->type, phase->kind}].total += end - begin;
    });
    for (const TimelinePhase& phase : phases_) count(phase);
    const std::unordered_set<std::string_view> outer = find_outer();
    for (auto& [key, leaf] : leaves_) {
      leaf.type = timeline_.text(key.first);
      leaf.kind = key.second;
      leaf.name = name_own_time(leaf.name, key.first, outer.contains(leaf.type));
      result_.leaves.push_back(std::move(leaf));
    }
    std::ranges::stable_sort(result_.leaves, std::ranges::greater(), &Leaf::total);
    merge_rest();
    return std::move(result_);
  }

 private:
  void count(const TimelinePhase& phase) {
    if (phase.begin >= window_.to || phase.end <= window_.from) return;
    Leaf& leaf = leaves_[{phase.type, phase.kind}];
    const std::string& name = timeline_.text(phase.name);
    if (leaf.name.empty()) {
      leaf.name = name;
    } else if (leaf.name != name) {
      leaf.name = without_numbers(name);
    }
    if (timeline_.is_unit(phase)) units_.insert(phase.type);
    if (phase.begin >= window_.from) ++leaf.phases;
  }

  // A name for a phase's own time, which is in none of its inner phases.
  [[nodiscard]] std::string name_own_time(const std::string& name, TextNumber type,
                                          bool has_inner) const {
    const bool is_unit = units_.contains(type);
    if (is_unit && timeline_.unit() == Unit::kEpoch) return "training and rest";
    if (!has_inner) return name;
    if (is_unit) return "forward and rest";
    return epoch_name(name).is_epoch ? "between steps" : name + " (rest)";
  }

  // Types of phases that have inner ones.
  [[nodiscard]] std::unordered_set<std::string_view> find_outer() const {
    std::unordered_set<std::string_view> outer;
    for (const auto& [key, leaf] : leaves_) {
      std::string_view type = timeline_.text(key.first);
      for (std::size_t end = type.rfind('/'); end != std::string_view::npos;
           end = type.rfind('/')) {
        type = type.substr(0, end);
        if (!outer.insert(type).second) break;
      }
    }
    return outer;
  }

  // A script may give each phase a name of its own.
  void merge_rest() {
    if (result_.leaves.size() <= kMostLeaves) return;
    Leaf rest{.type = "", .name = "other phases"};
    for (std::size_t i = kMostLeaves; i < result_.leaves.size(); ++i) {
      rest.total += result_.leaves[i].total;
      rest.phases += result_.leaves[i].phases;
    }
    result_.leaves.resize(kMostLeaves);
    result_.leaves.push_back(std::move(rest));
  }

  // A gap belongs to one part, for a step ends or begins at its border.
  void add_gap(UtcTime begin, UtcTime end) {
    const bool before = steps_.count > 0 && end <= steps_.first;
    const bool after = steps_.count > 0 && begin >= steps_.last;
    (before ? result_.start_up : after ? result_.shutdown : result_.untracked) += end - begin;
  }

  const Timeline& timeline_;
  std::span<const TimelinePhase> phases_;
  Window window_;
  Steps steps_;
  std::unordered_set<TextNumber> units_;  // types of steps
  std::map<std::pair<TextNumber, codec::PhaseKind>, Leaf> leaves_;
  LaneLeaves result_;
};

Nanos tracked(const LaneLeaves& lane) {
  Nanos sum{0};
  for (const Leaf& leaf : lane.leaves) sum += leaf.total;
  return sum;
}

// A rank of which so little was recorded, as in an imported trace of some steps, does not train.
constexpr int kLeastPart = 10;  // its divisor: a tenth of the time in steps of the lane with most

// Marks the lane of each rank that has the most time in steps; of two alike the first by name.
void mark_training(std::vector<LaneLeaves>& lanes) {
  std::map<std::optional<std::int64_t>, LaneLeaves*> best;
  for (LaneLeaves& lane : lanes) {
    if (lane.steps == 0) continue;
    LaneLeaves*& of_rank = best[lane_rank(lane.lane)];
    if (of_rank == nullptr || lane.in_steps > of_rank->in_steps ||
        (lane.in_steps == of_rank->in_steps && lane.lane < of_rank->lane))
      of_rank = &lane;
  }
  Nanos most{0};
  for (const auto& [rank, lane] : best) most = std::max(most, lane->in_steps);
  for (const auto& [rank, lane] : best) lane->trains = lane->in_steps >= most / kLeastPart;
}

}  // namespace

LaneLeaves find_leaves_of_lane(const Timeline& timeline, std::size_t lane, Window window) {
  return LaneSums(timeline, lane, window).sum();
}

std::vector<LaneLeaves> find_leaves(const Timeline& timeline, Window window) {
  std::vector<LaneLeaves> lanes;
  for (std::size_t lane = 0; lane < timeline.lanes(); ++lane)
    lanes.push_back(find_leaves_of_lane(timeline, lane, window));
  mark_training(lanes);
  std::ranges::stable_sort(lanes, std::ranges::greater(), [](const LaneLeaves& lane) {
    return std::tuple(lane.trains, tracked(lane));
  });
  return lanes;
}

std::vector<std::size_t> training_lanes(std::span<const LaneLeaves> lanes) {
  std::vector<std::size_t> numbers;
  for (const LaneLeaves& lane : lanes)
    if (lane.trains) numbers.push_back(lane.number);
  return numbers;
}

}  // namespace corral::analyze
