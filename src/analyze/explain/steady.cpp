#include "analyze/explain/steady.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "analyze/epochs.h"
#include "analyze/explain/change_points.h"

namespace corral::analyze {
namespace {

constexpr double kEquivalent = 0.01;  // part of the last segment's mean
constexpr double kRareTime = 0.5;     // part of the time: longer rare steps are no outliers
constexpr double kOddBlocks = 0.1;    // part of the time of blocks unlike the others
constexpr std::size_t kFewBlocks = 16;

struct Segment {
  std::size_t begin = 0, end = 0;
  double mean = 0, deviation = 0;
};

double mean_of(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double deviation_of(std::span<const double> values, double mean) {
  if (values.size() < 2) return 0;
  double squares = 0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  return std::sqrt(squares / static_cast<double>(values.size() - 1));
}

// The standard deviation that the differences of neighbours show, but for the greatest tenth of
// them: these may be changes.
double difference_noise(std::span<const double> values) {
  std::vector<double> squares;
  for (std::size_t i = 1; i < values.size(); ++i)
    squares.push_back((values[i] - values[i - 1]) * (values[i] - values[i - 1]));
  std::ranges::sort(squares);
  squares.resize(squares.size() -
                 std::min(squares.size(), std::max<std::size_t>(2, squares.size() / 10)));
  return squares.empty() ? 0 : std::sqrt(mean_of(squares) / 2);
}

// `least_noise`: a standard deviation.
std::vector<Segment> find_segments(std::span<const double> bins, double least_noise) {
  const double noise =
      std::max({noise_around_jumps(bins), least_noise, 1e-9 * std::abs(mean_of(bins))});
  const double penalty = 15 * std::log(static_cast<double>(bins.size())) * noise * noise;
  std::vector<std::size_t> borders = find_mean_changes(bins, penalty);
  borders.insert(borders.begin(), 0);
  borders.push_back(bins.size());
  std::vector<Segment> segments;
  for (std::size_t i = 0; i + 1 < borders.size(); ++i) {
    Segment segment{.begin = borders[i], .end = borders[i + 1], .mean = 0, .deviation = 0};
    const auto values = bins.subspan(segment.begin, segment.end - segment.begin);
    segment.mean = mean_of(values);
    segment.deviation = deviation_of(values, segment.mean);
    segments.push_back(segment);
  }
  return segments;
}

// Steps without the rare long ones. A training on a device starts its work early, and waits now and
// then for all of it: these long steps are rare and yet most of the time. Then blocks of steps are
// taken, from one wait to the next or several of them; none if there would be too few.
struct Blocks {
  std::vector<double> means;
  std::size_t size = 1;  // steps of each; those of no whole block are left out
};

// The usual number of steps from one long step to the next, at least 2.
std::size_t steps_between_waits(std::span<const double> lengths, std::span<const double> typical) {
  std::vector<double> gaps;
  std::size_t last = 0;
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    if (lengths[i] <= typical[i]) continue;
    if (last > 0) gaps.push_back(static_cast<double>(i - last));
    last = i;
  }
  if (gaps.empty()) return 2;
  return std::max<std::size_t>(2, static_cast<std::size_t>(quantile_of(std::move(gaps), 0.5)));
}

Blocks join_steps(std::span<const double> lengths) {
  const double all = mean_of(lengths);
  std::vector<double> typical = replace_outliers(lengths);
  if (std::abs(mean_of(typical) - all) <= kRareTime * all) return {.means = std::move(typical)};
  for (std::size_t size = steps_between_waits(lengths, typical);
       lengths.size() / size >= kFewBlocks; size *= 2) {
    std::vector<double> means;
    for (std::size_t i = 0; i + size <= lengths.size(); i += size)
      means.push_back(mean_of(lengths.subspan(i, size)));
    const double odd = std::abs(mean_of(replace_outliers(means)) - mean_of(means));
    if (odd <= kOddBlocks * all) return {.means = std::move(means), .size = size};
  }
  return {};
}

// `step`: the first steady one; the number of steps if there is none.
struct WarmUp {
  std::size_t step = 0;
  bool few_long = false;  // a few long steps take most of the time
};

WarmUp find_warm_up(std::span<const double> lengths) {
  const std::size_t n = lengths.size();
  if (n == 0) return {};
  const Blocks blocks = join_steps(lengths);
  if (blocks.means.empty()) return {.step = n, .few_long = true};
  const Bins bins = bin_means(blocks.means);
  // Blocks hold one wait more or less, which the median of their differences does not see.
  const double least_noise = blocks.size == 1 ? 0 : difference_noise(bins.means);
  const std::vector<Segment> segments = find_segments(bins.means, least_noise);
  const Segment& last = segments.back();
  const double reach = std::max(kEquivalent * last.mean, last.deviation);
  std::size_t first = last.begin;
  for (std::size_t i = segments.size() - 1; i-- > 0;) {
    if (std::abs(segments[i].mean - last.mean) > reach) break;
    first = segments[i].begin;
  }
  const std::size_t cut = std::min(first * bins.size * blocks.size, n);
  return {.step = n - cut < std::max(kFewSteps, n / 4) ? n : cut};
}

// ---- of a lane

struct LaneSteps {
  std::vector<double> lengths;
  std::vector<UtcTime> begins;
  std::vector<UtcTime> epochs;  // begins of those that ended and lie in no other
  UtcTime epoch_end = UtcTime::min();
  UtcTime end = UtcTime::min();  // the last step ends
};

LaneSteps collect_steps(const Timeline& timeline, std::size_t lane, Window run) {
  LaneSteps steps;
  UtcTime apart_until = UtcTime::min();  // one inside another counts once
  for (const TimelinePhase& phase : timeline.phases(lane)) {
    if (phase.begin < run.from || phase.begin >= run.to) continue;
    const std::string& name = timeline.text(phase.name);
    if (epoch_name(name).is_epoch && !phase.open && phase.begin >= steps.epoch_end) {
      steps.epochs.push_back(phase.begin);
      steps.epoch_end = phase.end;
    }
    if (timeline.is_unit(phase) && !phase.open && phase.begin >= steps.end) {
      steps.lengths.push_back(seconds(phase.length()));
      steps.begins.push_back(phase.begin);
      steps.end = phase.end;
    } else if (is_apart(name) && phase.begin < steps.end) {
      const UtcTime begin = std::max(phase.begin, apart_until);
      apart_until = std::max(begin, std::min(phase.end, steps.end));
      steps.lengths.back() -= seconds(apart_until - begin);
    }
  }
  return steps;
}

// Below kFewSteps: whole epochs but the first.
void choose_epochs(const LaneSteps& steps, SteadyPart& part) {
  part.steady = steps.epochs.size() >= 2;
  if (part.steady) {
    part.window.from = steps.epochs[1];
  } else {
    part.reason = part.unit == Unit::kStep ? "it has fewer than 50 steps and fewer than two epochs"
                                           : "it has fewer than two epochs";
  }
}

void cut_warm_up(std::span<const LaneSteps> all, SteadyPart& part) {
  part.steady = true;
  for (const LaneSteps& steps : all) {
    const WarmUp warm_up = find_warm_up(steps.lengths);
    if (warm_up.step < steps.lengths.size()) {
      part.window.from = std::max(part.window.from, steps.begins[warm_up.step]);
      continue;
    }
    part.steady = false;
    const std::string_view unit = unit_name(part.unit);
    part.reason = warm_up.few_long
                      ? fmt::format("a few long {}s took most of its time", unit)
                      : fmt::format("the length of its {}s changed until near its end", unit);
  }
  if (part.steady) return;
  // All steps then: none of them is better than another.
  part.window.from = UtcTime::max();
  for (const LaneSteps& steps : all)
    part.window.from = std::min(part.window.from, steps.begins.front());
}

// Ends the part with its last step, and measures its steps.
void measure(std::span<const LaneSteps> all, SteadyPart& part) {
  std::vector<double> lengths;
  part.steps = std::numeric_limits<std::int64_t>::max();
  UtcTime end = part.window.from;
  for (const LaneSteps& steps : all) {
    const auto first = std::ranges::lower_bound(steps.begins, part.window.from);
    const auto left_out = first - steps.begins.begin();
    lengths.insert(lengths.end(), steps.lengths.begin() + left_out, steps.lengths.end());
    part.left_out = std::max<std::int64_t>(part.left_out, left_out);
    part.steps = std::min<std::int64_t>(part.steps, std::ssize(steps.lengths) - left_out);
    end = std::max(end, steps.end);
  }
  part.window.to = end;
  if (part.steps == 0) {
    part.steady = false;
    part.reason = fmt::format("a rank has no {} after the warm-up", unit_name(part.unit));
  }
  if (lengths.empty()) return;
  part.mean_s = mean_of(lengths);
  part.deviation_s = deviation_of(lengths, part.mean_s);
}

}  // namespace

bool is_apart(std::string_view name) {
  return name == "checkpoint" || name == "evaluation" || name == "compile";
}

std::size_t find_steady_step(std::span<const double> lengths) { return find_warm_up(lengths).step; }

SteadyPart find_steady_part(const Timeline& timeline, std::span<const std::size_t> lanes,
                            Window run) {
  SteadyPart part;
  part.window = run;
  part.unit = timeline.unit();
  std::vector<LaneSteps> all;
  for (const std::size_t lane : lanes) all.push_back(collect_steps(timeline, lane, run));
  const auto fewest = std::ranges::min_element(
      all, {}, [](const LaneSteps& steps) { return steps.lengths.size(); });
  if (fewest == all.end() || fewest->lengths.empty()) {
    part.reason = !all.empty()               ? fmt::format("no {} has ended", unit_name(part.unit))
                  : part.unit == Unit::kStep ? "no step lies in this time"
                                             : "neither steps nor epochs were recorded";
    return part;
  }
  if (fewest->lengths.size() < kFewSteps) {
    choose_epochs(*fewest, part);
  } else {
    cut_warm_up(all, part);
  }
  measure(all, part);
  return part;
}

}  // namespace corral::analyze
