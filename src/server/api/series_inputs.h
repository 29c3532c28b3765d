// Helpers of /windows and /latest: the channel and ids of series, and the JSON of a value with its
// place.
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "core/json.h"
#include "query/chart/chart.h"
#include "query/series/window.h"
#include "server/api/write.h"

namespace corral::server::api {

inline constexpr std::size_t kSeriesAtOnce = 64;  // in one snapshot

inline store::Channel channel_of(query::ChartMode mode, metric::Kind kind) {
  return query::as_rate(mode, kind) ? store::Channel::kRate : store::Channel::kValue;
}

// Their ids, ascending, each once.
inline std::vector<SeriesId> distinct(std::span<const query::SeriesInput> inputs) {
  std::vector<SeriesId> ids;
  for (const query::SeriesInput& input : inputs) ids.push_back(input.series);
  std::ranges::sort(ids);
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  return ids;
}

inline void write_place(JsonWriter& json, const query::PlacedValue& place) {
  json.member("value", place.value).key("time_ns");
  write_integer(json, place.time);
  json.key("step");
  write_integer(json, place.step);
}

}  // namespace corral::server::api
