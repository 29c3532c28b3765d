#include "analyze/compare/run_history.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "analyze/explain/change_points.h"
#include "analyze/student_t.h"
#include "core/text.h"

namespace corral::analyze {
namespace {

constexpr double kSureBorder = 1e-4;   // p of a border
constexpr double kNearerPart = 0.6;    // part of the shorter side
constexpr double kHistoryPenalty = 3;  // times ln n and the noise's variance
constexpr double kFarAway = 5;         // standard deviations of an outlier
constexpr double kLeastHistoryNoise = 1e-9;
constexpr double kPlausible = 3.84;      // chi square of one place, 95 %
constexpr std::size_t kLeastRuns = 4;    // in a segment
constexpr std::size_t kLeastNewest = 2;  // in the last one
constexpr std::size_t kKeptNewest = 5;   // steps may begin there
constexpr std::size_t kAround = 5;       // values on each side of one
constexpr std::size_t kCommitDigits = 8;

double noise_of(std::span<const double> values) {
  return std::max(noise_around_jumps(values), kLeastHistoryNoise);
}

// Student's t of the means on both sides of `at`, of one deviation, and its two-sided p.
struct Border {
  double difference = 0, p = 1;
};
Border border_at(const RangeSums& sums, std::size_t begin, std::size_t at, std::size_t end) {
  const double n = static_cast<double>(at - begin), m = static_cast<double>(end - at);
  Border border{.difference = sums.mean(at, end) - sums.mean(begin, at)};
  const double degrees = n + m - 2;
  const double variance = (sums.scatter(begin, at) + sums.scatter(at, end)) / degrees;
  const double error = std::sqrt(variance * (1 / n + 1 / m));
  if (border.difference == 0) return border;
  const double t = error > 0 ? std::abs(border.difference) / error : HUGE_VAL;
  border.p = std::isfinite(t) ? 2 * student_t_cdf(-t, degrees) : 0;
  return border;
}

class BorderSearch {
 public:
  BorderSearch(std::span<const double> values, double margin)
      : values_(values), sums_(values), least_(std::log1p(margin)) {}

  std::vector<std::size_t> find() && {
    cut();
    while (take_back_weakest()) {
    }
    return std::move(borders_);
  }

 private:
  [[nodiscard]] std::size_t least_runs(std::size_t end) const {
    return end == values_.size() ? kLeastNewest : kLeastRuns;
  }

  // The segments of the least cost, none shorter than allowed.
  void cut() {
    const std::size_t n = values_.size();
    const double noise = noise_of(values_);
    const double penalty = kHistoryPenalty * std::log(static_cast<double>(n)) * noise * noise;
    std::vector<double> cost(n + 1, HUGE_VAL);
    std::vector<std::size_t> from(n + 1, 0);
    cost[0] = 0;
    for (std::size_t end = 1; end <= n; ++end) {
      for (std::size_t begin = 0; begin + least_runs(end) <= end; ++begin) {
        const double with = cost[begin] + sums_.scatter(begin, end) + penalty;
        if (with >= cost[end]) continue;
        cost[end] = with;
        from[end] = begin;
      }
    }
    if (!std::isfinite(cost[n])) return;
    for (std::size_t at = from[n]; at > 0; at = from[at]) borders_.push_back(at);
    std::ranges::reverse(borders_);
  }

  // Few outliers move a mean, but not most of the values.
  [[nodiscard]] bool is_nearer(std::size_t begin, std::size_t at, std::size_t end) const {
    const double before = sums_.mean(begin, at), after = sums_.mean(at, end);
    const double middle = (before + after) / 2;
    const bool first = at - begin < end - at;
    const auto side = first ? values_.subspan(begin, at - begin) : values_.subspan(at, end - at);
    const bool above = first ? before > after : after > before;
    const auto nearer = std::ranges::count_if(
        side, [&](double value) { return above ? value > middle : value < middle; });
    return static_cast<double>(nearer) >= kNearerPart * static_cast<double>(side.size());
  }

  // Above kSureBorder there is no border.
  [[nodiscard]] double doubt(std::size_t begin, std::size_t at, std::size_t end) const {
    const Border border = border_at(sums_, begin, at, end);
    if (std::abs(border.difference) <= least_ || !is_nearer(begin, at, end)) return 1;
    return border.p;
  }

  // False if all borders hold. The segments beside one that is taken back grow.
  bool take_back_weakest() {
    std::size_t weakest = 0;
    double most = kSureBorder;
    for (std::size_t i = 0; i < borders_.size(); ++i) {
      const std::size_t begin = i == 0 ? 0 : borders_[i - 1];
      const std::size_t end = i + 1 < borders_.size() ? borders_[i + 1] : values_.size();
      const double doubted = doubt(begin, borders_[i], end);
      if (doubted <= most) continue;
      most = doubted;
      weakest = i;
    }
    if (most <= kSureBorder) return false;
    borders_.erase(borders_.begin() + static_cast<std::ptrdiff_t>(weakest));
    return true;
  }

  std::span<const double> values_;
  RangeSums sums_;
  double least_;  // as a logarithm
  std::vector<std::size_t> borders_;
};

std::string unit_text(const HistoryUnit& unit) {
  std::string text = printable(unit.value.name);
  if (!unit.commit.empty())
    text += fmt::format(" (commit {})", printable(unit.commit.substr(0, kCommitDigits)));
  return text;
}

class HistoryMaker {
 public:
  HistoryMaker(RunHistory&& history, const std::map<RunId, const store::Run*>& runs,
               const HistoryOptions& options)
      : found_(std::move(history)), runs_(runs), options_(options) {}

  RunHistory make() && {
    keep_newest_unit();
    std::vector<double> logs;
    for (std::size_t i = 0; i < found_.units.size(); ++i) {
      if (!found_.units[i].value.value) continue;
      found_.counted.push_back(i);
      logs.push_back(std::log(*found_.units[i].value.value));
    }
    if (logs.empty()) return std::move(found_);
    clean_ = without_outliers(logs);
    for (std::size_t i = 0; i < logs.size(); ++i) unit(i).outlier = clean_[i] != logs[i];
    std::vector<std::size_t> borders = find_run_changes(clean_, options_.margin);
    borders.insert(borders.begin(), 0);
    borders.push_back(logs.size());
    for (std::size_t i = 0; i + 1 < borders.size(); ++i) add_segment(borders[i], borders[i + 1]);
    for (std::size_t i = 1; i < found_.segments.size(); ++i)
      found_.changes.push_back(change_of(i - 1, i));
    find_newest();
    return std::move(found_);
  }

 private:
  [[nodiscard]] HistoryUnit& unit(std::size_t counted) {
    return found_.units[found_.counted[counted]];
  }
  [[nodiscard]] std::span<const double> logs_of(const HistorySegment& segment) const {
    return std::span(clean_).subspan(segment.begin, segment.end - segment.begin);
  }

  void keep_newest_unit() {
    for (const HistoryUnit& one : found_.units)
      if (one.value.value) found_.unit = one.value.unit;
    for (HistoryUnit& one : found_.units) {
      drop_other_unit(one.value, found_.unit);
      const auto value = one.value.value ? one.value.value : one.value.measured;
      one.beyond = value && (*value < options_.at_least.value_or(*value) ||
                             *value > options_.at_most.value_or(*value));
    }
  }

  void add_segment(std::size_t begin, std::size_t end) {
    HistorySegment segment{.begin = begin, .end = end};
    const RatioInterval mean = ratio_interval(logs_of(segment), 0.95);
    segment.mean = mean.mean;
    segment.low = mean.low;
    segment.high = mean.high;
    for (std::size_t i = begin; i < end; ++i) unit(i).segment = found_.segments.size();
    found_.segments.push_back(segment);
  }

  [[nodiscard]] std::vector<SetUp> set_ups_of(std::size_t begin, std::size_t end) {
    std::vector<store::Run> runs;
    for (std::size_t i = begin; i < end; ++i)
      for (const UnitRun& run : unit(i).value.runs) runs.push_back(*runs_.at(run.id));
    return read_set_ups(runs);
  }

  // Other places that fit hardly worse.
  void find_places(HistoryChange& change) const {
    const std::size_t begin = found_.segments[change.before].begin;
    const std::size_t end = found_.segments[change.after].end;
    const std::size_t at = found_.segments[change.before + 1].begin;
    const RangeSums sums{std::span<const double>(clean_).subspan(begin, end - begin)};
    const double noise = noise_of(clean_);
    const auto scatter = [&](std::size_t place) {
      return sums.scatter(0, place - begin) + sums.scatter(place - begin, end - begin);
    };
    const double most = scatter(at) + kPlausible * noise * noise;
    std::size_t first = at, last = found_.segments[change.after].begin;
    while (first > begin + 1 && scatter(first - 1) <= most) --first;
    while (last + 1 < end && scatter(last + 1) <= most) ++last;
    change.last_before = first - 1;
    change.first_after = last;
  }

  [[nodiscard]] HistoryChange change_of(std::size_t before, std::size_t after) {
    const HistorySegment &a = found_.segments[before], &b = found_.segments[after];
    HistoryChange change;
    change.before = before;
    change.after = after;
    change.ratio = interval_of(log_ratio_of_groups(logs_of(a), logs_of(b)), 0.95);
    change.confirmed = clean_.size() - b.begin >= kSureRuns;
    const bool time = options_.value.kind != ComparedValue::Kind::kMetric;
    const auto less_is_better = time ? std::optional(true) : options_.less_is_better;
    if (less_is_better) change.worse = (change.ratio.mean > 1) == *less_is_better;
    find_places(change);
    const std::size_t from =
        std::max(a.begin, change.last_before + 1 - std::min(change.last_before + 1, kSureRuns));
    const std::size_t to = std::min(b.end, change.first_after + kSureRuns);
    change.set_up = find_set_up_differences(set_ups_of(from, change.last_before + 1),
                                            set_ups_of(change.first_after, to));
    change.text = text_of(change);
    return change;
  }

  // A partial recovery is still worse than what was before.
  void find_newest() {
    const std::size_t n = clean_.size(), last = found_.segments.size() - 1;
    const std::size_t then = unit(n - 1 - std::min(n - 1, kSureRuns)).segment;
    if (then == last) return;
    HistoryChange change = change_of(then, last);
    if (std::abs(std::log(change.ratio.mean)) > std::log1p(options_.margin))
      found_.newest = std::move(change);
  }

  [[nodiscard]] std::string text_of(const HistoryChange& change) {
    const double ratio = change.ratio.mean;
    const bool time = options_.value.kind != ComparedValue::Kind::kMetric;
    const std::string_view more = time ? "slower" : "greater", less = time ? "faster" : "less";
    std::string text =
        fmt::format("Between {} and {} it became {:.3g} × {}", unit_text(unit(change.last_before)),
                    unit_text(unit(change.first_after)), ratio > 1 ? ratio : 1 / ratio,
                    ratio > 1 ? more : less);
    if (std::isfinite(change.ratio.low))
      text += fmt::format(" (95 %: {:.3g} to {:.3g})",
                          ratio > 1 ? change.ratio.low : 1 / change.ratio.high,
                          ratio > 1 ? change.ratio.high : 1 / change.ratio.low);
    const std::size_t between = change.first_after - change.last_before - 1;
    if (between > 0)
      text += fmt::format("; {} run{} between them may belong to either", between,
                          between == 1 ? "" : "s");
    const std::size_t follow = clean_.size() - found_.segments[change.after].begin;
    if (!change.confirmed)
      text += fmt::format("; suspected, {} of {} runs that confirm it followed", follow, kSureRuns);
    return text + ".";
  }

  RunHistory found_;
  const std::map<RunId, const store::Run*>& runs_;
  const HistoryOptions& options_;
  std::vector<double> clean_;  // logarithms of the values that count
};

}  // namespace

std::vector<double> without_outliers(std::span<const double> logs) {
  std::vector<double> clean(logs.begin(), logs.end());
  const std::size_t n = logs.size();
  if (n < 3) return clean;
  const double far = kFarAway * noise_of(logs);
  for (std::size_t i = 0; i < n; ++i) {
    const std::size_t first = std::min(i - std::min(i, kAround), n - std::min(n, 2 * kAround + 1));
    const std::size_t last = std::min(n, first + 2 * kAround + 1);
    std::vector<double> around(logs.begin() + static_cast<std::ptrdiff_t>(first),
                               logs.begin() + static_cast<std::ptrdiff_t>(last));
    const double median = quantile_of(around, 0.5);
    for (double& one : around) one = std::abs(one - median);
    // Beside a step the values around it are far from their median, too.
    const double usual = kFarAway * kMadToDeviation * quantile_of(std::move(around), 0.5);
    if (std::abs(logs[i] - median) <= std::max(far, usual)) continue;
    const bool newest = i + kKeptNewest >= n;
    const bool single = i + 1 < n && i > 0 && std::abs(logs[i] - logs[i - 1]) > far &&
                        std::abs(logs[i] - logs[i + 1]) > far;
    if (!newest || single) clean[i] = median;
  }
  return clean;
}

std::vector<std::size_t> find_run_changes(std::span<const double> clean, double margin) {
  if (clean.empty()) return {};
  return BorderSearch(clean, margin).find();
}

Result<RunHistory> read_run_history(const store::Reader& store, const GroupRuns& group,
                                    const HistoryOptions& options) {
  std::map<RunId, const store::Run*> runs;
  for (const store::Run& run : group.runs) runs.emplace(run.id, &run);
  RunHistory history;
  history.name = group.name;
  for (UnitValue& value :
       TRY(read_units(store, group.runs, {.value = options.value, .left = options.left}))) {
    const std::string commit = fact_text(*runs.at(value.runs.front().id), "git_commit");
    history.units.push_back({.value = std::move(value), .commit = commit, .segment = 0});
  }
  return HistoryMaker(std::move(history), runs, options).make();
}

}  // namespace corral::analyze
