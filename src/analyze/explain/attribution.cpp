#include "analyze/explain/attribution.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <string_view>
#include <unordered_map>

#include "analyze/epochs.h"
#include "analyze/explain/change_points.h"
#include "analyze/explain/least_squares.h"
#include "analyze/split_mix.h"
#include "analyze/student_t.h"
#include "core/text.h"
#include "core/time.h"
#include "store/tables/phases.h"

namespace corral::analyze {
namespace {

constexpr double kKnown = 1e-6;  // part of the values
constexpr double kWidest = 0.1;  // half-width of an interval: of the capacity, or the range
constexpr std::size_t kLeastSamples = 10;
constexpr std::int64_t kLeastPieces = 3;
constexpr std::size_t kMostSegments = 256;
constexpr std::size_t kReplicates = 400;
constexpr double kNormalQuantile = 1.959963984540054;  // 0.975
constexpr double kGreatestUse = 1e150;  // the square fits a double; greater values are ignored
constexpr std::string_view kOther = "other phases";

// Exact over all of time, which a signed difference is not.
double seconds_between(UtcTime begin, UtcTime end) {
  return static_cast<double>(static_cast<std::uint64_t>(ns_of(end)) -
                             static_cast<std::uint64_t>(ns_of(begin))) *
         1e-9;
}

// ---- types of phases
// "epoch/step/backward" -> "epoch/step": up to its first step, else up to its first epoch; empty:
// it is in neither.
std::string_view unit_path(std::string_view type) {
  std::size_t of_epoch = 0;
  for (std::size_t begin = 0; begin < type.size();) {
    const std::size_t end = std::min(type.find('/', begin), type.size());
    const std::string_view name = type.substr(begin, end - begin);
    if (std::ranges::find(store::page::kStepNames, name) != store::page::kStepNames.end())
      return type.substr(0, end);
    if (of_epoch == 0 && epoch_name(name).is_epoch) of_epoch = end;
    begin = end + 1;
  }
  return type.substr(0, of_epoch);
}

std::string name_unit(const Timeline& timeline, std::string_view path) {
  const std::string_view name = path.substr(path.rfind('/') + 1);
  const bool between = timeline.unit() == Unit::kStep && epoch_name(name).is_epoch;
  return between ? "between steps" : std::string(name);
}

// The greatest types of the lanes; the last one is "other phases", if there are more.
std::vector<PhaseType> greatest_types(const Timeline& timeline, std::span<const std::size_t> lanes,
                                      Window window, Grain grain) {
  std::map<std::string, PhaseType> types;
  for (const LaneLeaves& lane : find_leaves(timeline, window)) {
    if (std::ranges::find(lanes, lane.number) == lanes.end()) continue;
    for (const Leaf& leaf : lane.leaves) {
      const std::string type =
          grain == Grain::kUnits ? std::string(unit_path(leaf.type)) : leaf.type;
      if (type.empty() || leaf.total <= Nanos(0)) continue;
      PhaseType& found = types[type];
      found.type = type;
      if (found.name.empty())
        found.name = grain == Grain::kUnits ? name_unit(timeline, type) : leaf.name;
      found.total += leaf.total;
    }
  }
  std::vector<PhaseType> all;
  for (auto& [path, type] : types) all.push_back(std::move(type));
  std::ranges::stable_sort(all, std::ranges::greater(), &PhaseType::total);
  if (all.size() > kMostTypes) {
    all.resize(kMostTypes);
    all.push_back({.type = "", .name = std::string(kOther)});
  }
  for (PhaseType& type : all) type.total = Nanos(0);
  return all;
}

struct StateHash {
  std::size_t operator()(const Activity::State& state) const {
    return std::hash<std::string_view>{}(
        {reinterpret_cast<const char*>(state.data()), sizeof(state)});
  }
};

// ---- the fit
struct Interval {
  double low = 0, high = 0;
  bool is_determined = false;  // in nearly all replicates
  [[nodiscard]] double half() const { return (high - low) / 2; }
};

// One column for each type, and one for the background: segments of consecutive samples.
class UseFit {
 public:
  UseFit(std::size_t types, std::size_t samples)
      : samples_(samples),
        segments_(std::min(samples, kMostSegments), NormalEquations(types + 1)) {}

  void add(std::size_t sample, std::span<const double> row, double value) {
    segments_[sample * segments_.size() / samples_].add(row, value);
  }
  void drop_background() {
    for (NormalEquations& segment : segments_) segment = segment.without_last();
  }
  [[nodiscard]] NormalEquations whole() const {
    NormalEquations sum(segments_.front().columns());
    for (const NormalEquations& segment : segments_) sum.add(segment, 1);
    return sum;
  }
  // 95 % of each weight, without bounds: a weight that the bound holds at 0 would look certain. Few
  // pieces of a type, or few blocks, widen it as Student's t does; `pieces`: by type.
  [[nodiscard]] std::vector<Interval> intervals(std::span<const std::int64_t> pieces) const {
    constexpr std::size_t kTail = kReplicates / 40;
    std::vector<std::vector<double>> found(segments_.front().columns());
    SplitMix random(samples_);
    for (std::size_t i = 0; i < kReplicates; ++i) {
      const NormalEquations drawn = replicate(random);
      const std::vector<double> weights = drawn.solve(), inflation = drawn.inflation();
      for (std::size_t k = 0; k < found.size(); ++k)
        if (inflation[k] > 0 && inflation[k] <= kCollinear) found[k].push_back(weights[k]);
    }
    std::vector<Interval> all(found.size());
    const std::size_t blocks = segments_.size() / block_length();
    for (std::size_t k = 0; k < found.size(); ++k) {
      std::vector<double>& values = found[k];
      if (values.size() < kReplicates - kTail) continue;
      std::ranges::sort(values);
      const double independent =
          std::min(static_cast<double>(blocks),
                   k < pieces.size() ? static_cast<double>(pieces[k]) : kNoCapacity);
      const double wider =
          student_t_quantile(0.975, std::max(independent - 1, 1.0)) / kNormalQuantile;
      const double middle = values[values.size() / 2];
      all[k] = {.low = middle - wider * (middle - values[kTail]),
                .high = middle + wider * (values[values.size() - 1 - kTail] - middle),
                .is_determined = true};
    }
    return all;
  }

 private:
  // n^(1/3) samples, but two segments or more.
  [[nodiscard]] std::size_t block_length() const {
    const auto samples = static_cast<double>(samples_), n = static_cast<double>(segments_.size());
    const auto wanted = static_cast<std::size_t>(std::ceil(std::cbrt(samples) * n / samples));
    return std::min(std::max<std::size_t>(wanted, 2), segments_.size());
  }
  // Random blocks; the end is joined to the begin.
  [[nodiscard]] NormalEquations replicate(SplitMix& random) const {
    const std::size_t n = segments_.size(), length = block_length();
    std::vector<double> times(n);
    for (std::size_t taken = 0; taken < n; taken += length) {
      const std::size_t begin = random.below(n);
      for (std::size_t i = 0; i < std::min(length, n - taken); ++i) times[(begin + i) % n] += 1;
    }
    NormalEquations sum(segments_.front().columns());
    for (std::size_t i = 0; i < n; ++i)
      if (times[i] > 0) sum.add(segments_[i], times[i]);
    return sum;
  }

  std::size_t samples_;
  std::vector<NormalEquations> segments_;
};

std::vector<UseSample> usable(std::span<const UseSample> samples) {
  std::vector<UseSample> kept;
  for (const UseSample& sample : samples) {
    if (!std::isfinite(sample.value) || std::abs(sample.value) > kGreatestUse) continue;
    if (sample.begin >= sample.end || (!kept.empty() && sample.begin < kept.back().end)) continue;
    kept.push_back(sample);
  }
  return kept;
}

class Attributor {
 public:
  Attributor(const Activity& activity, std::span<const UseSample> samples, double capacity)
      : activity_(activity), samples_(usable(samples)) {
    found_.capacity = capacity > 0 ? capacity : kNoCapacity;
    found_.samples = samples_.size();
  }

  Attribution attribute() && {
    if (samples_.empty()) {
      found_.background_reason = "there are no samples";
      return std::move(found_);
    }
    measure();
    for (const PhaseType& type : activity_.types())
      found_.parts.push_back({.type = type, .reason = {}});
    fit();
    place();
    finish();
    return std::move(found_);
  }

 private:
  [[nodiscard]] std::size_t types() const { return activity_.types().size(); }
  [[nodiscard]] std::vector<std::int64_t> pieces() const {
    std::vector<std::int64_t> all;
    for (const PhaseType& type : activity_.types()) all.push_back(type.times);
    return all;
  }

  void measure() {
    std::vector<double> values;
    for (const UseSample& sample : samples_) {
      const double length = seconds_between(sample.begin, sample.end);
      covered_ += length;
      found_.total += length * sample.value;
      values.push_back(sample.value);
    }
    // Without the hundredths at both ends: single spikes allow no wider intervals.
    const double high = quantile_of(values, 0.99), low = quantile_of(std::move(values), 0.01);
    found_.total /= covered_;
    found_.window_s = covered_ / static_cast<double>(samples_.size());
    // Most of a large capacity may never be used. A metric that never changes is known well.
    found_.limit = kWidest * (found_.capacity < kNoCapacity ? std::min(found_.capacity, 2 * high)
                                                            : high - low);
    found_.limit = std::max(found_.limit, kKnown * std::abs(high));
  }

  void fit() {
    UseFit fit(types(), samples_.size());
    std::vector<double> row(types() + 1);
    activity_.each_window(samples_, [&](std::size_t i, std::span<const Activity::Stretch> window) {
      const double length = seconds_between(samples_[i].begin, samples_[i].end);
      std::ranges::fill(row, 0.0);
      row.back() = 1;
      for (const Activity::Stretch& stretch : window)
        for (std::size_t k = 0; k < types(); ++k)
          row[k] += stretch.state[k] * (stretch.seconds / length);
      fit.add(i, row, samples_[i].value);
    });
    judge_background(fit);
    weights_ = fit.whole().solve_nonnegative();
    weights_.resize(types() + 1);
    judge_types(fit.intervals(pieces()));
  }

  // Without a background that can be told, the phases have all.
  void judge_background(UseFit& fit) {
    const Interval interval = fit.intervals(pieces()).back();
    const bool few = samples_.size() < kLeastSamples;
    const bool told = interval.is_determined && interval.half() <= found_.limit;
    if (types() == 0 || (told && !few)) {
      found_.background_low = std::max(interval.low, 0.0);
      found_.background_high = std::max(interval.high, 0.0);
      return;
    }
    fit.drop_background();
    const std::string why =
        few ? fmt::format("there are only {}", counted(samples_.size(), "sample"))
        : interval.is_determined ? fmt::format("known to ±{:.2g} only", interval.half())
                                 : "too little time is in no phase";
    found_.background_reason = why + ": the phases include it";
  }

  void judge_types(const std::vector<Interval>& intervals) {
    for (std::size_t k = 0; k < types(); ++k) {
      AttributedPart& part = found_.parts[k];
      part.low = std::max(intervals[k].low, 0.0);
      part.high = std::max(intervals[k].high, 0.0);
      if (samples_.size() < std::max(kLeastSamples, 2 * types())) {
        part.reason = fmt::format("there are only {}", counted(samples_.size(), "sample"));
      } else if (part.type.times < kLeastPieces) {
        part.reason = fmt::format("it has only {}", counted(part.type.times, "piece"));
      } else if (!intervals[k].is_determined) {
        part.reason = "its time cannot be told from that of other phases";
      } else if (intervals[k].half() > found_.limit) {
        part.reason = too_wide(part.type, intervals[k].half());
      }
    }
  }

  [[nodiscard]] std::string too_wide(const PhaseType& type, double half) const {
    const double piece_s =
        seconds(type.total) / static_cast<double>(std::max<std::int64_t>(type.pieces, 1));
    return fmt::format("known to ±{:.2g} only: pieces of {} under windows of {}", half,
                       precise_duration(piece_s), precise_duration(found_.window_s));
  }

  // Spreads each sample over its window, and splits it.
  void place() {
    std::vector<DemandPiece> pieces;
    active_.assign(types(), 0);
    activity_.each_window(samples_, [&](std::size_t i, std::span<const Activity::Stretch> window) {
      const double length = seconds_between(samples_[i].begin, samples_[i].end);
      pieces.clear();
      for (const Activity::Stretch& stretch : window) {
        double demand = weights_.back();
        for (std::size_t k = 0; k < types(); ++k) demand += stretch.state[k] * weights_[k];
        pieces.push_back({.fraction = stretch.seconds / length, .variable = demand});
      }
      const double value = std::max(samples_[i].value, 0.0);
      const PlacedUse placed = place_use(pieces, value, found_.capacity);
      found_.unplaced += (placed.unplaced + samples_[i].value - value) * length;
      for (std::size_t j = 0; j < pieces.size(); ++j) split(window[j], pieces[j], placed.use[j]);
    });
  }

  void split(const Activity::Stretch& stretch, const DemandPiece& piece, double use) {
    double rest = use;
    for (std::size_t k = 0; k < types(); ++k) {
      if (stretch.state[k] == 0) continue;
      const double share = variable_share(use, piece, stretch.state[k] * weights_[k]);
      found_.parts[k].use += share * stretch.seconds;
      active_[k] += stretch.state[k] * stretch.seconds;
      rest -= share;
    }
    if (piece.variable <= 0 || weights_.back() > 0) found_.background += rest * stretch.seconds;
  }

  void finish() {
    found_.background /= covered_;
    found_.unplaced /= covered_;
    if (found_.background_low) {
      found_.background_low = std::min(*found_.background_low, found_.background);
      found_.background_high = std::max(*found_.background_high, found_.background);
    }
    for (std::size_t k = 0; k < types(); ++k) {
      AttributedPart& part = found_.parts[k];
      if (active_[k] > 0) {
        part.mean = part.use / active_[k];
      } else if (part.is_identifiable()) {
        part.reason = "no samples lie in it";
      }
      part.use /= covered_;
      part.low = std::min(part.low, part.mean);
      part.high = std::max(part.high, part.mean);
      // The mean may lie far from the middle if the bound at 0 holds other weights.
      const double half = std::max(part.mean - part.low, part.high - part.mean);
      if (part.is_identifiable() && half > 1.5 * found_.limit)
        part.reason = too_wide(part.type, half);
    }
    std::ranges::stable_sort(found_.parts, std::ranges::greater(), &AttributedPart::use);
  }

  const Activity& activity_;
  std::vector<UseSample> samples_;
  Attribution found_;
  double covered_ = 0;  // s
  std::vector<double> weights_;
  std::vector<double> active_;  // s, by type: over the lanes
};

}  // namespace

Activity Activity::find(const Timeline& timeline, std::span<const std::size_t> lanes, Window window,
                        Grain grain) {
  Activity activity;
  activity.types_ = greatest_types(timeline, lanes, window, grain);
  std::unordered_map<std::string_view, std::uint8_t> numbers;
  for (const PhaseType& type : activity.types_)
    numbers.emplace(type.type, static_cast<std::uint8_t>(numbers.size()));
  const std::uint8_t other = numbers.contains("") ? numbers[""] : kNone;
  std::unordered_map<TextNumber, std::uint8_t> known;
  const auto number_of = [&](TextNumber text) {
    const auto [found, fresh] = known.try_emplace(text, kNone);
    if (!fresh) return found->second;
    std::string_view path = timeline.text(text);
    if (grain == Grain::kUnits) path = unit_path(path);
    if (path.empty()) return kNone;
    const auto number = numbers.find(path);
    return found->second = number == numbers.end() ? other : number->second;
  };
  for (const std::size_t lane : lanes) {
    std::uint8_t before = kNone;
    std::vector<std::int64_t> times(activity.types_.size());
    walk_leaves(
        timeline.phases(lane), window, [&](UtcTime begin, UtcTime end, const TimelinePhase* phase) {
          const std::uint8_t type = phase == nullptr ? kNone : number_of(phase->type);
          if (type != kNone) {
            activity.types_[type].total += end - begin;
            ++activity.types_[type].pieces;
            ++times[type];
          }
          if (type == before) return;
          activity.changes_.push_back(
              {.time = begin, .lane = static_cast<std::uint16_t>(activity.lanes_), .type = type});
          before = type;
        });
    for (std::size_t k = 0; k < times.size(); ++k)
      activity.types_[k].times = std::max(activity.types_[k].times, times[k]);
    ++activity.lanes_;
  }
  if (lanes.size() > 1) std::ranges::stable_sort(activity.changes_, {}, &Change::time);
  return activity;
}

void Activity::each_window(std::span<const UseSample> samples, const Each& each) const {
  std::vector<Stretch> stretches;
  std::unordered_map<State, std::size_t, StateHash> places;
  std::vector<std::uint8_t> types(lanes_, kNone);
  State state{};
  std::size_t next = 0;
  const auto add = [&](UtcTime begin, UtcTime end) {
    if (begin >= end) return;
    const auto [place, fresh] = places.try_emplace(state, stretches.size());
    if (fresh) stretches.push_back({.state = state});
    stretches[place->second].seconds += seconds_between(begin, end);
  };
  for (std::size_t i = 0; i < samples.size(); ++i) {
    stretches.clear();
    places.clear();
    UtcTime at = samples[i].begin;
    for (; next < changes_.size() && changes_[next].time < samples[i].end; ++next) {
      const Change& change = changes_[next];
      add(at, change.time);
      at = std::max(at, change.time);
      std::uint8_t& type = types[change.lane];
      if (type != kNone) --state[type];
      type = change.type;
      if (type != kNone) ++state[type];
    }
    add(at, samples[i].end);
    each(i, stretches);
  }
}

double Attribution::not_identifiable() const {
  double sum = 0;
  for (const AttributedPart& part : parts)
    if (!part.is_identifiable()) sum += part.use;
  return sum;
}

Attribution attribute(const Activity& activity, std::span<const UseSample> samples,
                      double capacity) {
  return Attributor(activity, samples, capacity).attribute();
}

}  // namespace corral::analyze
