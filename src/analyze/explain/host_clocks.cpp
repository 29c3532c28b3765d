#include "analyze/explain/host_clocks.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "metric/catalogue.h"
#include "query/series/points.h"
#include "store/tables/members.h"

namespace corral::analyze {
namespace {

constexpr std::int64_t kDrift = 10'000;  // two clocks gain on each other by at most 1 / this
constexpr double kMostSeconds = 4e9;     // beyond, it is no clock's offset
constexpr std::int64_t kMostPoints = 4096;
constexpr std::size_t kPointsBetweenLooks = 1U << 16U;  // at who waits
// Times that the store keeps lie between these, so that any two of them can be subtracted.
constexpr std::int64_t kLatest = std::numeric_limits<std::int64_t>::max() / 2;

Nanos between(Nanos a, Nanos b, double part) {
  return a + Nanos(std::llround(static_cast<double>((b - a).count()) * part));
}

ClockPoint outside(const ClockPoint& point, UtcTime at) {
  return {.at = at,
          .offset = point.offset,
          .error = point.error + std::chrono::abs(at - point.at) / kDrift};
}

// No drift explains what lies between the two measurements.
bool was_set(const ClockPoint& a, const ClockPoint& b) {
  const Nanos explained = std::chrono::abs(b.at - a.at) / kDrift + a.error + b.error;
  return std::chrono::abs(b.offset - a.offset) > explained;
}

// Leaves out measurements of a busy moment: those before or after it say more about that time.
std::vector<ClockPoint> without_slow(const std::vector<ClockPoint>& points) {
  std::vector<ClockPoint> kept;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const ClockPoint& one = points[i];
    const auto says_less_than = [&](const ClockPoint& other) {
      return outside(other, one.at).error < one.error && !was_set(one, other);
    };
    const bool slow = (!kept.empty() && says_less_than(kept.back())) ||
                      (i + 1 < points.size() && says_less_than(points[i + 1]));
    if (!slow) kept.push_back(one);
  }
  return kept;
}

// Points by session, of all the series that they are asked of.
class Values final : public query::PointTaker {
 public:
  // At most kMostPoints of a series are kept, evenly over the time.
  Values(UtcTime from, UtcTime to)
      : pause_(std::max<std::int64_t>(1, (to - from) / kMostPoints / Nanos(1))) {}

  void points(const query::PointBatch& batch) override {
    auto& values = series_[{batch.series, batch.session}];
    for (std::size_t i = 0; i < batch.times.size(); ++i) {
      if (std::abs(batch.values[i]) <= kMostSeconds)
        values.try_emplace(batch.times[i] / pause_, batch.times[i],
                           nanos_of_seconds(batch.values[i]));
    }
    taken_ += batch.times.size();
  }
  void gap(const query::PointGap&) override {}
  [[nodiscard]] bool full() const override { return taken_ >= kPointsBetweenLooks; }
  void take_more() { taken_ = 0; }

  // An offset without an error counts for nothing, and the other way round.
  void pair(SeriesId offset, SeriesId error, std::optional<std::int64_t> session,
            std::vector<ClockPoint>& points) const {
    for (const auto& [key, offsets] : series_) {
      if (key.first != offset || (session && key.second != *session)) continue;
      const auto errors = series_.find({error, key.second});
      if (errors == series_.end()) continue;
      for (const auto& [bucket, value] : offsets) {
        const auto its = errors->second.find(bucket);
        const bool both = its != errors->second.end() && its->second.first == value.first;
        if (both && its->second.second >= Nanos(0))
          points.push_back(
              {.at = utc_time(value.first), .offset = value.second, .error = its->second.second});
      }
    }
  }

 private:
  using Series = std::map<std::int64_t, std::pair<std::int64_t, Nanos>>;  // by bucket of time

  const std::int64_t pause_;
  std::map<std::pair<SeriesId, std::int64_t>, Series> series_;
  std::size_t taken_ = 0;
};

struct Measured {
  SeriesId offset, error;
};

// The series of the run's clocks, by source.
Result<std::map<std::string, Measured>> find_measured(const store::Reader& store,
                                                      const store::Run& run) {
  std::map<std::string, Measured> measured;
  for (const store::Series& series : TRY(store.series_of(run.id))) {
    if (series.name == metric::kClockOffset) measured[series.source].offset = series.id;
    if (series.name == metric::kClockError) measured[series.source].error = series.id;
  }
  std::erase_if(measured, [](const auto& one) {
    return one.second.offset == SeriesId() || one.second.error == SeriesId();
  });
  return measured;
}

struct Process {
  std::string host;
  Measured series;
  std::optional<std::int64_t> session{};  // key; nullopt: any
};

struct Processes {
  std::string first;  // host of the lowest rank; without ranks that of the run
  std::vector<Process> measuring{};
};

// On each host one of each attempt, that of the lowest rank which measured.
Result<Processes> choose_processes(const store::Reader& store, const store::Run& run,
                                   const std::map<std::string, Measured>& measured) {
  std::vector<store::page::RunMember> members;
  std::vector<store::page::RankPlace> places;
  const auto read = [&](store::Reading& reading) -> Result<> {
    members = TRY(store::page::run_members(reading, run.id));
    places = TRY(store::page::rank_places(reading, run.id));
    return {};
  };
  TRY(store.inspect(read));
  Processes chosen{.first = run.host};
  if (!places.empty()) chosen.first = places.front().host;
  std::set<std::pair<std::string, std::int64_t>> seen;
  for (const store::page::RunMember& one : members) {
    auto found = measured.find(one.rank ? fmt::format("rank{}", *one.rank) : one.host);
    // A batch script that was alone until it was started again.
    if (found == measured.end()) found = measured.find("");
    if (found != measured.end() && seen.emplace(one.host, one.attempt).second)
      chosen.measuring.push_back(
          {.host = one.host, .series = found->second, .session = one.session});
  }
  const auto lone = measured.find("");
  if (members.empty() && lone != measured.end())
    chosen.measuring.push_back({.host = run.host, .series = lone->second});
  return chosen;
}

}  // namespace

HostClock::HostClock(std::vector<ClockPoint> points) {
  std::ranges::sort(points, {}, &ClockPoint::at);
  points_ = without_slow(points);
}

ClockPoint HostClock::at(UtcTime at) const {
  const auto after = std::ranges::upper_bound(points_, at, {}, &ClockPoint::at);
  if (after == points_.begin()) return outside(points_.front(), at);
  if (after == points_.end()) return outside(points_.back(), at);
  const ClockPoint& before = *std::prev(after);
  const Nanos length = after->at - before.at, change = after->offset - before.offset;
  // The clock may leave each measurement at another rate than the line between the two.
  const Nanos near = std::min(at - before.at, after->at - at);
  Nanos error = std::max(before.error, after->error) + near / kDrift +
                between(Nanos(0), std::chrono::abs(change), seconds(near) / seconds(length));
  if (was_set(before, *after)) error += std::chrono::abs(change);
  return {
      .at = at,
      .offset = between(before.offset, after->offset, seconds(at - before.at) / seconds(length)),
      .error = error};
}

Nanos HostClock::error(UtcTime from, UtcTime to) const {
  Nanos most = std::max(at(from).error, at(to).error);
  for (std::size_t i = 0; i < points_.size(); ++i) {
    const bool last = i + 1 == points_.size();
    const UtcTime middle =
        last ? points_[i].at : points_[i].at + (points_[i + 1].at - points_[i].at) / 2;
    if (middle >= from && middle < to) most = std::max(most, at(middle).error);
  }
  return most;
}

HostClocks::HostClocks(std::string first, ByHost clocks)
    : first_(std::move(first)), clocks_(std::move(clocks)) {
  if (!clocks_.contains(first_) && !clocks_.empty()) first_ = clocks_.begin()->first;
}

Result<HostClocks> HostClocks::read(const store::Reader& store, const store::Run& run,
                                    const Left& left) {
  const auto measured = TRY(find_measured(store, run));
  if (measured.empty()) return HostClocks();
  Processes processes = TRY(choose_processes(store, run, measured));
  std::set<SeriesId> ids;
  for (const Process& process : processes.measuring)
    ids.insert({process.series.offset, process.series.error});
  if (ids.empty()) return HostClocks();
  Values values(run.start, std::max(run.newest, run.end.value_or(run.newest)));
  query::PointWalk walk(store, {.series = {ids.begin(), ids.end()}});
  while (TRY(walk.next(values))) {
    values.take_more();
    TRY(check_waiting(left));
  }
  std::map<std::string, std::vector<ClockPoint>> points;
  for (const auto& [host, series, session] : processes.measuring)
    values.pair(series.offset, series.error, session, points[host]);
  ByHost clocks;
  for (auto& [host, its] : points)
    if (!its.empty()) clocks.emplace(host, HostClock(std::move(its)));
  return HostClocks(std::move(processes.first), std::move(clocks));
}

UtcTime HostClocks::shift(std::string_view host, UtcTime at) const {
  const auto own = clocks_.find(host), first = clocks_.find(first_);
  if (host == first_ || own == clocks_.end() || first == clocks_.end()) return at;
  const Nanos by = own->second.at(at).offset - first->second.at(at).offset;
  const UtcTime moved = at + std::clamp(by, -Nanos(kLatest), Nanos(kLatest));
  return std::clamp(moved, utc_time(-kLatest), utc_time(kLatest));
}

std::optional<Nanos> HostClocks::error(std::string_view host, UtcTime from, UtcTime to) const {
  const auto found = clocks_.find(host);
  if (found == clocks_.end()) return std::nullopt;
  return found->second.error(from, to);
}

}  // namespace corral::analyze
