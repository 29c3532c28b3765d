#include "collect/foreign/points.h"

namespace corral::collect::foreign {

PointQueue::PointQueue(std::size_t points, std::size_t series)
    : max_points_(points), max_series_(series) {}

SeriesNumber PointQueue::declare(ForeignSeries series) {
  return state_.with([&](State& state) {
    auto key = std::pair(series.name, series.source);
    if (const auto found = state.numbers.find(key); found != state.numbers.end())
      return found->second;
    if (state.numbers.size() >= max_series_) return kNoSeries;
    const auto number = static_cast<SeriesNumber>(state.numbers.size());
    state.numbers.emplace(std::move(key), number);
    state.fresh.push_back(std::move(series));
    return number;
  });
}

bool PointQueue::push(const ForeignPoint& point) {
  return state_.with([&](State& state) {
    if (point.series == kNoSeries || state.points.size() >= max_points_) {
      ++state.dropped;
      return false;
    }
    state.points.push_back(point);
    return true;
  });
}

PointQueue::Drained PointQueue::drain() {
  return state_.with([](State& state) {
    Drained drained;
    drained.first_series = static_cast<SeriesNumber>(state.numbers.size() - state.fresh.size());
    drained.series.swap(state.fresh);
    drained.points.swap(state.points);
    return drained;
  });
}

void PointQueue::count_dropped(std::uint64_t points) {
  state_.with([&](State& state) { state.dropped += points; });
}

std::uint64_t PointQueue::dropped() const {
  return state_.with([](const State& state) { return state.dropped; });
}

}  // namespace corral::collect::foreign
