#include "query/chart/m4/recent_points.h"

#include <algorithm>
#include <map>
#include <numeric>

namespace corral::query::m4 {

Result<> RecentPoints::read(ChartSeries& answer, PieceSink& sink) {
  std::int64_t position =
      view_.block_count(request_.series) * static_cast<std::int64_t>(codec::kColumnEntries);
  for (const store::Chunk& chunk : view_.recent(request_.series)) {
    gather(chunk, position);
    position += std::ssize(chunk.values);
  }
  if (request_.rate && request_.axis != ChartAxis::kStep) put_in_order();
  // Nothing in sight: no rate is asked for either, so no block is looked at for its last sample.
  if (std::ranges::none_of(sources_, [&](const Source& s) { return in_sight(s); })) return {};
  for (const Source& source : sources_) {
    if (!request_.rate && !in_sight(source)) continue;
    answer.cost.points += source.values.size();
    TRY(give(source, sink));
  }
  return {};
}

void RecentPoints::gather(const store::Chunk& chunk, std::int64_t position) {
  if (chunk.values.empty()) return;
  const bool steps = request_.axis == ChartAxis::kStep;
  if (steps && !chunk.steps) return;
  sources_.push_back({.session = chunk.session,
                      .times = *chunk.times,
                      .xs = steps ? *chunk.steps : *chunk.times,
                      .values = chunk.values,
                      .position = position});
}

bool RecentPoints::in_sight(const Source& source) const {
  // Steps may go back: all of them are looked at, for the segments.
  if (request_.axis == ChartAxis::kStep) return true;
  return source.times.back() >= request_.from && source.times.front() < request_.to;
}

void RecentPoints::put_in_order() {
  std::map<std::int64_t, std::vector<Source*>> sessions;
  for (Source& source : sources_) sessions[source.session].push_back(&source);
  for (auto& [session, sources] : sessions) {
    const auto behind = [](const Source* a, const Source* b) {
      return b->times.front() < a->times.back();
    };
    if (std::ranges::adjacent_find(sources, behind) != sources.end()) merge(sources);
  }
  std::erase_if(sources_, [](const Source& source) { return source.values.empty(); });
}

// Into the first of them; the others are left empty.
void RecentPoints::merge(std::vector<Source*>& sources) {
  std::vector<std::int64_t> times;
  std::vector<double> values;
  for (Source* source : sources) {
    times.insert(times.end(), source->times.begin(), source->times.end());
    values.insert(values.end(), source->values.begin(), source->values.end());
    if (source != sources.front()) source->values = {};
  }
  std::vector<std::size_t> order(times.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return times[i]; });
  auto& in_times = merged_times_.emplace_back();
  auto& in_values = merged_values_.emplace_back();
  for (const std::size_t i : order) {
    in_times.push_back(times[i]);
    in_values.push_back(values[i]);
  }
  Source& all = *sources.front();
  all.times = all.xs = in_times;
  all.values = in_values;
}

Result<> RecentPoints::give(const Source& source, PieceSink& sink) {
  std::span<const double> values = source.values;
  if (request_.rate) {
    const auto [entry, first] = rates_.try_emplace(source.session);
    if (first) {
      const auto end =
          view_.block_count(request_.series) * static_cast<std::int64_t>(codec::kColumnEntries);
      entry->second.start_after(TRY(blocks_.newest_before(end, source.session)));
    }
    buffer_.resize(values.size());
    for (std::size_t i = 0; i < values.size(); ++i)
      buffer_[i] = entry->second.next(source.times[i], values[i]);
    values = buffer_;
  }
  sink.take({.xs = source.xs, .values = values, .position = source.position});
  return {};
}

}  // namespace corral::query::m4
