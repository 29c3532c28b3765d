#include "query/series/inputs.h"

#include <fmt/core.h>

namespace corral::query {

std::vector<SeriesId> distinct(std::vector<SeriesId> ids) {
  std::ranges::sort(ids);
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  return ids;
}

std::vector<SeriesId> distinct(std::span<const SeriesInput> inputs) {
  std::vector<SeriesId> ids;
  for (const SeriesInput& input : inputs) ids.push_back(input.series);
  return distinct(std::move(ids));
}

Result<SeriesRecords> read_series(const store::Reader& store, std::vector<SeriesId> ids) {
  ids = distinct(std::move(ids));
  SeriesRecords records;
  for (store::Series& one : TRY(store.series(ids))) records.emplace(one.id, std::move(one));
  for (const SeriesId id : ids) {
    if (!records.contains(id))
      return fail(Code::kNotFound, fmt::format("there is no series {}", id.value));
  }
  return records;
}

}  // namespace corral::query
