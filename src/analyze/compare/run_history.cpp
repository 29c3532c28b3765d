#include "analyze/compare/run_history.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "analyze/explain/change_points.h"
#include "analyze/student_t.h"
#include "core/json.h"
#include "core/text.h"

namespace corral::analyze {
namespace {

constexpr double kSureBorder = 1e-4;     // p of a border
constexpr double kNearerPart = 0.6;      // part of the shorter side
constexpr double kHistoryPenalty = 3;    // times ln n and the noise's variance
constexpr std::size_t kLeastRuns = 4;    // in a segment
constexpr std::size_t kLeastNewest = 2;  // in the last one
constexpr std::size_t kKeptNewest = 5;   // the newest values, which are never outliers
constexpr std::size_t kCommitDigits = 8;

// Sums, from which the t of every border follows.
class Sums {
 public:
  explicit Sums(std::span<const double> values) : sums_{0}, squares_{0} {
    // From the first value on, so that squares of small differences keep their digits.
    for (const double value : values) {
      const double from_first = value - values.front();
      sums_.push_back(sums_.back() + from_first);
      squares_.push_back(squares_.back() + from_first * from_first);
    }
  }
  [[nodiscard]] double mean(std::size_t begin, std::size_t end) const {
    return (sums_[end] - sums_[begin]) / static_cast<double>(end - begin);
  }
  // Sum of squared differences to the mean.
  [[nodiscard]] double scatter(std::size_t begin, std::size_t end) const {
    const double mean_here = mean(begin, end);
    const double n = static_cast<double>(end - begin);
    return std::max(squares_[end] - squares_[begin] - n * mean_here * mean_here, 0.0);
  }

 private:
  std::vector<double> sums_, squares_;
};

// Student's t of the means on both sides of `at`, of one deviation, and its two-sided p.
struct Border {
  double difference = 0, p = 1;
};
Border border_at(const Sums& sums, std::size_t begin, std::size_t at, std::size_t end) {
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
    const double noise = std::max(noise_around_jumps(values_), kLeastNoise);
    const double n = static_cast<double>(values_.size());
    borders_ = find_mean_changes(values_, kHistoryPenalty * std::log(n) * noise * noise);
    while (take_back_weakest()) {
    }
    return std::move(borders_);
  }

 private:
  static constexpr double kLeastNoise = 1e-9;

  // Few outliers move a mean, but not most of the values.
  [[nodiscard]] bool is_nearer(std::size_t begin, std::size_t at, std::size_t end) const {
    const double before = sums_.mean(begin, at), after = sums_.mean(at, end);
    const double middle = (before + after) / 2 + values_.front();
    const bool first = at - begin < end - at;
    const auto side = first ? values_.subspan(begin, at - begin) : values_.subspan(at, end - at);
    const bool above = first ? before > after : after > before;
    const auto nearer = std::ranges::count_if(
        side, [&](double value) { return above ? value > middle : value < middle; });
    return static_cast<double>(nearer) >= kNearerPart * static_cast<double>(side.size());
  }

  // Above kSureBorder there is no border.
  [[nodiscard]] double doubt(std::size_t begin, std::size_t at, std::size_t end) const {
    const std::size_t after = end == values_.size() ? kLeastNewest : kLeastRuns;
    if (at - begin < kLeastRuns || end - at < after) return 2;
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
  Sums sums_;
  double least_;  // as a logarithm
  std::vector<std::size_t> borders_;
};

std::string commit_of_run(const store::Run& run) {
  for (const auto& [key, value] : run.info) {
    const auto text = key == "git_commit" ? Json::parse(value) : Result<Json>();
    if (text && text->as_string() != nullptr) return *text->as_string();
  }
  return "";
}

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
    for (std::size_t i = 0; i < found_.units.size(); ++i) {
      if (!found_.units[i].value.value) continue;
      found_.counted.push_back(i);
      found_.unit = found_.units[i].value.unit;
      logs_.push_back(std::log(*found_.units[i].value.value));
    }
    if (logs_.empty()) return std::move(found_);
    std::vector<std::size_t> borders = find_run_changes(logs_, options_.margin);
    borders.insert(borders.begin(), 0);
    borders.push_back(logs_.size());
    for (std::size_t i = 0; i + 1 < borders.size(); ++i) add_segment(borders[i], borders[i + 1]);
    for (std::size_t i = 1; i < found_.segments.size(); ++i) add_change(i);
    return std::move(found_);
  }

 private:
  [[nodiscard]] std::span<const double> logs_of(const HistorySegment& segment) const {
    return std::span(logs_).subspan(segment.begin, segment.end - segment.begin);
  }

  void add_segment(std::size_t begin, std::size_t end) {
    HistorySegment segment{.begin = begin, .end = end};
    const RatioInterval mean = ratio_interval(logs_of(segment), 0.95);
    segment.mean = mean.mean;
    segment.low = mean.low;
    segment.high = mean.high;
    for (std::size_t i = begin; i < end; ++i)
      found_.units[found_.counted[i]].segment = found_.segments.size();
    found_.segments.push_back(segment);
  }

  [[nodiscard]] std::vector<SetUp> set_ups_of(std::size_t begin, std::size_t end) const {
    std::vector<store::Run> runs;
    for (std::size_t i = begin; i < end; ++i)
      for (const UnitRun& run : found_.units[found_.counted[i]].value.runs)
        runs.push_back(*runs_.at(run.id));
    return read_set_ups(runs);
  }

  void add_change(std::size_t segment) {
    const HistorySegment &before = found_.segments[segment - 1], &after = found_.segments[segment];
    HistoryChange change;
    change.segment = segment;
    change.ratio = interval_of(log_ratio_of_groups(logs_of(before), logs_of(after)), 0.95);
    change.confirmed = after.end - after.begin >= kSureRuns;
    const bool time = options_.value.kind != ComparedValue::Kind::kMetric;
    const auto less_is_better = time ? std::optional(true) : options_.less_is_better;
    if (less_is_better) change.worse = (change.ratio.mean > 1) == *less_is_better;
    const std::size_t from = before.end - std::min(before.end - before.begin, kSureRuns);
    const std::size_t to = std::min(after.end, after.begin + kSureRuns);
    change.set_up =
        find_set_up_differences(set_ups_of(from, before.end), set_ups_of(after.begin, to));
    change.text = text_of(change, before, after);
    found_.changes.push_back(std::move(change));
  }

  [[nodiscard]] std::string text_of(const HistoryChange& change, const HistorySegment& before,
                                    const HistorySegment& after) const {
    const double ratio = change.ratio.mean;
    const bool time = options_.value.kind != ComparedValue::Kind::kMetric;
    const std::string_view more = time ? "slower" : "greater", less = time ? "faster" : "less";
    std::string text = fmt::format("Between {} and {} it became {:.3g} × {}",
                                   unit_text(found_.units[found_.counted[before.end - 1]]),
                                   unit_text(found_.units[found_.counted[after.begin]]),
                                   ratio > 1 ? ratio : 1 / ratio, ratio > 1 ? more : less);
    if (std::isfinite(change.ratio.low))
      text += fmt::format(" (95 %: {:.3g} to {:.3g})",
                          ratio > 1 ? change.ratio.low : 1 / change.ratio.high,
                          ratio > 1 ? change.ratio.high : 1 / change.ratio.low);
    const std::size_t follow = after.end - after.begin;
    if (!change.confirmed)
      text += fmt::format(": suspected, {} of {} runs that confirm it followed", follow, kSureRuns);
    return text + ".";
  }

  RunHistory found_;
  const std::map<RunId, const store::Run*>& runs_;
  const HistoryOptions& options_;
  std::vector<double> logs_;
};

}  // namespace

std::vector<std::size_t> find_run_changes(std::span<const double> logs, double margin) {
  if (logs.empty()) return {};
  std::vector<double> values = replace_outliers(logs);
  for (std::size_t i = logs.size() - std::min(logs.size(), kKeptNewest); i < logs.size(); ++i)
    values[i] = logs[i];
  return BorderSearch(values, margin).find();
}

Result<RunHistory> read_run_history(const store::Reader& store, const GroupRuns& group,
                                    const HistoryOptions& options) {
  std::map<RunId, const store::Run*> runs;
  for (const store::Run& run : group.runs) runs.emplace(run.id, &run);
  RunHistory history;
  history.name = group.name;
  for (UnitValue& value :
       TRY(read_units(store, group.runs, {.value = options.value, .left = options.left}))) {
    const std::string commit = commit_of_run(*runs.at(value.runs.front().id));
    history.units.push_back({.value = std::move(value), .commit = commit, .segment = 0});
  }
  return HistoryMaker(std::move(history), runs, options).make();
}

}  // namespace corral::analyze
