// The series of a request: their records, and views of their points in lots that one snapshot
// holds.
#pragma once

#include <algorithm>
#include <map>
#include <span>
#include <vector>

#include "core/ids.h"
#include "core/result.h"
#include "store/model/point_view.h"
#include "store/reader.h"

namespace corral::query {

// A series of a request.
struct SeriesInput {
  SeriesId series;
  store::Channel channel = store::Channel::kValue;
  std::int64_t origin = 0;  // time axis only: where the grid's 0 lies, ns UTC
};

inline constexpr std::size_t kSeriesAtOnce = 64;  // in one snapshot

// Ascending, each once.
std::vector<SeriesId> distinct(std::vector<SeriesId> ids);
std::vector<SeriesId> distinct(std::span<const SeriesInput> inputs);

using SeriesRecords = std::map<SeriesId, store::Series>;
// kNotFound names the first that does not exist.
Result<SeriesRecords> read_series(const store::Reader& store, std::vector<SeriesId> ids);

// Calls `each(view, i)` for every input in turn; `view` has the points of inputs[i].
template <class Each>
Result<> view_each(const store::Reader& store, std::span<const SeriesInput> inputs, Each each) {
  for (std::size_t begin = 0; begin < inputs.size(); begin += kSeriesAtOnce) {
    const std::size_t end = std::min(begin + kSeriesAtOnce, inputs.size());
    const auto read = [&](store::PointView& view) -> Result<> {
      for (std::size_t i = begin; i < end; ++i) TRY(each(view, i));
      return {};
    };
    TRY(store.view(distinct(inputs.subspan(begin, end - begin)), read));
  }
  return {};
}

}  // namespace corral::query
