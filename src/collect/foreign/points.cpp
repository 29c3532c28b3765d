#include "collect/foreign/points.h"

namespace corral::collect::foreign {

PointQueue::PointQueue(std::size_t points, std::size_t series)
    : max_points_(points), max_series_(series) {}

PointQueue::Declared PointQueue::declare(ForeignSeries series, std::string_view giver) {
  return state_.with([&](State& state) {
    Declared declared;
    auto found = state.series.find({series.name, series.source});
    if (found != state.series.end() && found->second.giver != giver) {
      declared.shared = found->second.giver;
      series.source.append(series.source.empty() ? "from=" : ",from=").append(giver);
      found = state.series.find({series.name, series.source});
    }
    if (found != state.series.end()) {
      declared.number = found->second.number;
      return declared;
    }
    if (state.series.size() >= max_series_) return declared;
    declared.number = static_cast<SeriesNumber>(state.series.size());
    state.series.emplace(std::pair(series.name, series.source),
                         Known{.number = declared.number, .giver = std::string(giver)});
    state.fresh.push_back(std::move(series));
    return declared;
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
    drained.first_series = static_cast<SeriesNumber>(state.series.size() - state.fresh.size());
    drained.series.swap(state.fresh);
    drained.points.swap(state.points);
    return drained;
  });
}

std::size_t PointQueue::room() const {
  return state_.with([&](const State& state) { return max_points_ - state.points.size(); });
}

void PointQueue::count_dropped(std::uint64_t points) {
  state_.with([&](State& state) { state.dropped += points; });
}

std::uint64_t PointQueue::dropped() const {
  return state_.with([](const State& state) { return state.dropped; });
}

}  // namespace corral::collect::foreign
