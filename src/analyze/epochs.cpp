#include "analyze/epochs.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include "core/json.h"
#include "core/text.h"
#include "query/series/cell_walk.h"
#include "store/model/content.h"

namespace corral::analyze {
namespace {

constexpr std::string_view kRank = "rank";
constexpr std::int64_t kNoRank = std::numeric_limits<std::int64_t>::max();
constexpr double kMostIndex = 9e15;  // whole numbers below it are all doubles

std::int64_t rank_or_none(std::string_view lane) { return lane_rank(lane).value_or(kNoRank); }

bool is_separator(char c) { return c == ' ' || c == '_' || c == '-' || c == '/'; }

// Begins while the one before lasts. One without an end lasts as long as others say nothing new: it
// may have been killed.
bool is_within(const EpochPhase& phase, const EpochPhase& before) {
  if (before.end) return *before.end > phase.start;
  return phase.lane != before.lane && (!phase.index || phase.index == before.index);
}

// ---- of a metric
// When the last point of an epoch came, by its number.
class LastTimes {
 public:
  void add(double epoch, std::int64_t last) {
    if (!(epoch >= 0 && epoch < kMostIndex)) return;
    const auto index = static_cast<std::int64_t>(epoch);
    if (const auto found = times_.find(index); found != times_.end()) {
      found->second = std::max(found->second, last);
    } else if (full()) {
      more_ = true;
    } else {
      times_.emplace(index, last);
    }
  }
  [[nodiscard]] bool full() const { return times_.size() >= kMostEpochs; }

  [[nodiscard]] Epochs epochs(std::int64_t start) const {
    std::vector<std::pair<std::int64_t, std::int64_t>> by_end;
    for (const auto& [index, last] : times_) by_end.emplace_back(last, index);
    std::ranges::sort(by_end);
    Epochs out{.epochs = {}, .more = more_};
    for (const auto& [last, index] : by_end) {
      out.epochs.push_back({.index = index, .start = start, .end = last});
      start = last;
    }
    return out;
  }

 private:
  std::map<std::int64_t, std::int64_t> times_;
  bool more_ = false;
};

// Sorts the points both ways, for whether the values have fractions is known at the end.
class EpochSink {
 public:
  bool takes(std::size_t, const codec::Bucket& b, int, bool) const {
    if (b.count == b.not_finite()) return true;
    return whole_.full() || (std::floor(b.min) == std::floor(b.max) && done(b.min) == done(b.max));
  }
  void bucket(std::size_t, const codec::Bucket& b, std::int64_t) {
    if (b.count == b.not_finite()) return;
    add(b.min, b.t1);
    add(b.max, b.t1);
  }
  void points(std::size_t, const query::PointSpan& span) {
    for (std::size_t i = 0; i < span.size(); ++i)
      if (std::isfinite(span.values[i])) add(span.values[i], span.times[i]);
  }
  [[nodiscard]] Epochs epochs(std::int64_t start) const {
    return (fractions_ ? parts_ : whole_).epochs(start);
  }

 private:
  // The epoch that is being done where so many are done.
  static double done(double value) { return value == 0 ? 0 : std::ceil(value) - 1; }
  void add(double value, std::int64_t time) {
    fractions_ = fractions_ || value != std::floor(value);
    whole_.add(std::floor(value), time);
    parts_.add(done(value), time);
  }

  LastTimes whole_, parts_;
  bool fractions_ = false;
};

// "index" or "epoch" of the phase's attributes, else the number in its name.
std::optional<std::int64_t> index_from(const codec::Attributes& attributes, const EpochName& name) {
  for (const auto& [key, value] : attributes) {
    if (key != "index" && key != "epoch") continue;
    if (const auto json = Json::parse(value); json && json->as_int() != nullptr)
      return *json->as_int();
  }
  return name.index;
}

}  // namespace

std::optional<std::int64_t> lane_rank(std::string_view lane) {
  for (const std::string_view part : split(lane, '/')) {
    if (!part.starts_with(kRank)) continue;
    if (const auto rank = parse_int(part.substr(kRank.size())); rank && *rank >= 0) return rank;
  }
  return std::nullopt;
}

EpochName epoch_name(std::string_view name) {
  constexpr std::string_view kEpoch = "epoch";
  if (name.size() < kEpoch.size()) return {};
  for (std::size_t i = 0; i < kEpoch.size(); ++i) {
    const char lower = name[i] >= 'A' && name[i] <= 'Z' ? static_cast<char>(name[i] + 32) : name[i];
    if (lower != kEpoch[i]) return {};
  }
  name.remove_prefix(kEpoch.size());
  if (name.empty()) return {.is_epoch = true};
  if (is_separator(name.front())) name.remove_prefix(1);
  const auto index = parse_int(name);
  if (!index || *index < 0) return {};
  return {.is_epoch = true, .index = index};
}

std::optional<EpochPhase> as_epoch(const store::page::NamedPhase& phase) {
  const EpochName name = epoch_name(phase.name);
  if (!name.is_epoch) return std::nullopt;
  return EpochPhase{.lane = phase.lane,
                    .start = ns_of(phase.start),
                    .end = phase.end ? std::optional(ns_of(*phase.end)) : std::nullopt,
                    .index = index_from(phase.attributes, name)};
}

std::optional<EpochPhase> as_epoch(const store::page::PhaseFields& phase) {
  if (!epoch_name(phase.name).is_epoch) return std::nullopt;
  return as_epoch(store::page::NamedPhase{.name = std::string(phase.name),
                                          .lane = std::string(phase.lane),
                                          .start = phase.start,
                                          .end = phase.end,
                                          .attributes = store::parse_attributes(phase.attributes)});
}

Epochs epochs_of_phases(std::vector<EpochPhase> phases) {
  Epochs out;
  if (phases.empty()) return out;
  std::ranges::stable_sort(phases, {}, &EpochPhase::start);
  const std::int64_t rank =
      rank_or_none(std::ranges::min_element(phases, {}, [](const EpochPhase& p) {
                     return rank_or_none(p.lane);
                   })->lane);
  std::int64_t next = 0;
  const EpochPhase* last = nullptr;
  for (const EpochPhase& phase : phases) {
    if (rank_or_none(phase.lane) != rank || (last != nullptr && is_within(phase, *last))) continue;
    if (out.epochs.size() == kMostEpochs) {
      out.more = true;
      break;
    }
    const std::int64_t index = phase.index.value_or(next);
    out.epochs.push_back({.index = index, .start = phase.start, .end = phase.end});
    next = index < std::numeric_limits<std::int64_t>::max() ? index + 1 : index;
    last = &phase;
  }
  return out;
}

Result<Epochs> epochs_of_metric(store::PointView& view, SeriesId series, std::int64_t start) {
  query::Cursor cursor(view, series, store::Channel::kValue);
  const query::AxisCells always(
      {std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max()});
  EpochSink sink;
  TRY(query::walk_cells(cursor, always, {}, sink));
  return sink.epochs(start);
}

}  // namespace corral::analyze
