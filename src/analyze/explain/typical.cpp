#include "analyze/explain/typical.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <unordered_map>
#include <utility>

#include "analyze/explain/change_points.h"

namespace corral::analyze {
namespace {

constexpr double kFar = 5 * kMadToDeviation;  // median absolute deviations
constexpr double kLeastPart = 0.03;           // share of the epoch

// ---- components

// Leaves of a lane of one type, whatever their kind.
struct LeafGroup {
  std::string name;
  Nanos total{0};
};

// Adds the pieces of a lane to the epochs in which they lie.
class EpochSums {
 public:
  EpochSums(const Timeline& timeline, const LaneLeaves& lane) : timeline_(timeline) {
    std::map<std::string, LeafGroup> groups;
    for (const Leaf& leaf : lane.leaves) {
      if (leaf.type.empty()) continue;
      LeafGroup& group = groups[leaf.type];
      group.name = leaf.name;
      group.total += leaf.total;
    }
    std::vector<std::pair<std::string, LeafGroup>> order(groups.begin(), groups.end());
    std::ranges::stable_sort(order, std::ranges::greater(),
                             [](const auto& group) { return group.second.total; });
    order.resize(std::min(order.size(), kMostComponents));
    for (auto& [type, group] : order) {
      components_.emplace(type, found_.leaves.size());
      found_.leaves.push_back(std::move(group.name));
    }
    found_.leaves.emplace_back("other phases");
    found_.leaves.emplace_back("untracked");
  }

  void add_epoch(std::int64_t index, Window window, std::size_t most) {
    if (found_.epochs.size() == most) {
      ++found_.left_out;
      return;
    }
    found_.epochs.push_back(
        {.index = index, .window = window, .leaves = std::vector<double>(found_.leaves.size())});
  }
  void add(UtcTime begin, UtcTime end, const TimelinePhase* phase) {
    std::vector<EpochTimes>& epochs = found_.epochs;
    while (at_ < epochs.size() && epochs[at_].window.to <= begin) ++at_;
    // A piece may reach over several epochs if none of their phases is open.
    for (std::size_t i = at_; i < epochs.size() && epochs[i].window.from < end; ++i) {
      const Nanos inside =
          std::min(end, epochs[i].window.to) - std::max(begin, epochs[i].window.from);
      if (inside > Nanos(0)) epochs[i].leaves[component(phase)] += seconds(inside);
    }
  }
  LaneEpochs take() && { return std::move(found_); }

 private:
  std::size_t component(const TimelinePhase* phase) {
    const std::size_t untracked = found_.leaves.size() - 1;
    if (phase == nullptr) return untracked;
    const auto known = numbers_.find(phase->type);
    if (known != numbers_.end()) return known->second;
    const auto kept = components_.find(timeline_.text(phase->type));
    const std::size_t component = kept == components_.end() ? untracked - 1 : kept->second;
    numbers_.emplace(phase->type, component);
    return component;
  }

  const Timeline& timeline_;
  std::unordered_map<std::string, std::size_t> components_;  // by type
  std::unordered_map<TextNumber, std::size_t> numbers_;      // the same, once it was looked up
  LaneEpochs found_;
  std::size_t at_ = 0;
};

// ---- odd ones

std::vector<double> component(const LaneEpochs& lane, const Regime& regime,
                              std::optional<std::size_t> leaf) {
  std::vector<double> values;
  values.reserve(regime.size());
  for (std::size_t i = regime.first; i < regime.end; ++i) {
    const EpochTimes& epoch = lane.epochs[i];
    values.push_back(leaf ? epoch.leaves[*leaf] : seconds(epoch.window.length()));
  }
  return values;
}

double median_length(const LaneEpochs& lane, const Regime& regime) {
  return quantile_of(component(lane, regime, std::nullopt), 0.5);
}

struct Usual {
  double median = 0, reach = 0;
};
Usual find_usual(const std::vector<double>& values, double epoch_s) {
  Usual usual{.median = quantile_of(values, 0.5), .reach = 0};
  std::vector<double> far(values);
  for (double& value : far) value = std::abs(value - usual.median);
  usual.reach = std::max(kFar * quantile_of(std::move(far), 0.5), kLeastPart * epoch_s);
  return usual;
}

// The leaves first: a leaf says more than the length.
std::vector<OddEpoch> find_odd(const LaneEpochs& lane, const Regime& regime) {
  std::map<std::size_t, OddEpoch> odd;
  const double length = median_length(lane, regime);
  const auto look = [&](std::optional<std::size_t> leaf) {
    const std::vector<double> values = component(lane, regime, leaf);
    const Usual usual = find_usual(values, length);
    for (std::size_t i = 0; i < values.size(); ++i) {
      const double far = std::abs(values[i] - usual.median);
      if (far <= usual.reach) continue;
      const OddEpoch found{
          .epoch = regime.first + i, .leaf = leaf, .seconds = values[i], .usual = usual.median};
      const auto [known, fresh] = odd.try_emplace(found.epoch, found);
      if (!fresh && leaf && far > known->second.difference()) known->second = found;
    }
  };
  for (std::size_t leaf = 0; leaf < lane.leaves.size(); ++leaf) look(leaf);
  look(std::nullopt);
  std::vector<OddEpoch> found;
  found.reserve(odd.size());
  for (const auto& [epoch, one] : odd) found.push_back(one);
  return found;
}

// Adds to each value's sum its distances to all of them.
void add_distances(const std::vector<double>& values, std::vector<double>& sums) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::sort(order, {}, [&](std::size_t i) { return values[i]; });
  double below = 0, above = std::accumulate(values.begin(), values.end(), 0.0);
  for (std::size_t rank = 0; rank < order.size(); ++rank) {
    const double value = values[order[rank]];
    above -= value;
    const auto lower = static_cast<double>(rank);
    const auto higher = static_cast<double>(order.size() - rank - 1);
    sums[order[rank]] += lower * value - below + above - higher * value;
    below += value;
  }
}

std::size_t find_medoid(const LaneEpochs& lane, const std::vector<std::size_t>& alike) {
  std::vector<double> sums(alike.size());
  std::vector<double> values(alike.size());
  for (std::size_t leaf = 0; leaf < lane.leaves.size(); ++leaf) {
    for (std::size_t i = 0; i < alike.size(); ++i) values[i] = lane.epochs[alike[i]].leaves[leaf];
    add_distances(values, sums);
  }
  return alike[static_cast<std::size_t>(std::ranges::min_element(sums) - sums.begin())];
}

bool is_close(double a, double b) { return std::abs(a - b) <= kLeastPart * a; }

// Regimes that are too short, or as long as the one before, are no changes for good: they belong to
// the one before; the first to the one after it.
std::vector<Regime> join_regimes(const LaneEpochs& lane, const std::vector<std::size_t>& borders) {
  std::vector<Regime> regimes;
  std::size_t first = 0;
  for (const std::size_t border : borders) {
    const Regime next{.first = first, .end = border, .typical = {}};
    if (!next.is_compared() && regimes.empty() && border != lane.epochs.size()) continue;
    first = border;
    if (!next.is_compared() && !regimes.empty()) {
      regimes.back().end = border;
    } else {
      regimes.push_back(next);
    }
    for (std::size_t n = regimes.size(); n > 1 && is_close(median_length(lane, regimes[n - 2]),
                                                           median_length(lane, regimes[n - 1]));
         --n) {
      regimes.pop_back();
      regimes.back().end = border;
    }
  }
  return regimes;
}

std::vector<Regime> find_regimes(const LaneEpochs& lane) {
  if (lane.epochs.empty()) return {};
  const Regime all{.first = 0, .end = lane.epochs.size(), .typical = {}};
  const std::vector<double> lengths = replace_outliers(component(lane, all, std::nullopt));
  const Bins bins = bin_means(lengths);
  const double least = kLeastPart / 5 * quantile_of(lengths, 0.5);
  const double sigma = std::max(noise_around_jumps(bins.means), least);
  const double penalty = 6 * std::log(static_cast<double>(bins.means.size() + 1)) * sigma * sigma;
  std::vector<std::size_t> borders =
      place_changes(lengths, find_mean_changes(bins.means, penalty), bins.size);
  borders.push_back(lengths.size());
  return join_regimes(lane, borders);
}

void describe_alike(const LaneEpochs& lane, const std::vector<std::size_t>& alike, Regime& regime) {
  regime.alike = alike.size();
  if (alike.empty()) return;
  regime.typical = find_medoid(lane, alike);
  std::vector<double> lengths;
  lengths.reserve(alike.size());
  for (const std::size_t epoch : alike)
    lengths.push_back(seconds(lane.epochs[epoch].window.length()));
  regime.median_s = quantile_of(lengths, 0.5);
  regime.p10_s = quantile_of(lengths, 0.1);
  regime.p90_s = quantile_of(lengths, 0.9);
}

}  // namespace

LaneEpochs collect_epochs(const Timeline& timeline, const LaneLeaves& lane, Window window,
                          std::span<const Epoch> epochs, std::size_t most) {
  EpochSums sums(timeline, lane);
  for (const Epoch& epoch : epochs) {
    if (!epoch.end || *epoch.end <= epoch.start) continue;
    const Window whole{.from = utc_time(epoch.start), .to = utc_time(*epoch.end)};
    if (whole.from >= window.from && whole.to <= window.to)
      sums.add_epoch(epoch.index, whole, most);
  }
  walk_leaves(
      timeline.phases(lane.number), window,
      [&](UtcTime begin, UtcTime end, const TimelinePhase* phase) { sums.add(begin, end, phase); });
  return std::move(sums).take();
}

TypicalEpochs find_typical(const LaneEpochs& lane) {
  TypicalEpochs found{.regimes = find_regimes(lane), .odd = {}};
  for (Regime& regime : found.regimes) {
    if (!regime.is_compared()) continue;
    const std::vector<OddEpoch> odd = find_odd(lane, regime);
    std::vector<std::size_t> alike;
    auto next = odd.begin();
    for (std::size_t epoch = regime.first; epoch < regime.end; ++epoch) {
      if (next != odd.end() && next->epoch == epoch) {
        ++next;
      } else {
        alike.push_back(epoch);
      }
    }
    describe_alike(lane, alike, regime);
    found.odd.insert(found.odd.end(), odd.begin(), odd.end());
  }
  return found;
}

}  // namespace corral::analyze
