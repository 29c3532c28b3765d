#include "collect/series.h"

#include <fmt/core.h>

#include <utility>

#include "collect/row_ring.h"
#include "core/result.h"

namespace corral::collect {

Column SeriesTable::add_to(Group group, std::string_view name, std::string source) {
  const metric::Metric* metric = metric::find_metric(name);
  CORRAL_ASSERT(metric != nullptr);
  series_[group].push_back({.metric = metric, .source = std::move(source)});
  return static_cast<Column>(series_[group].size() - 1);
}

Column SeriesTable::add(std::string_view name, std::string source) {
  const metric::Metric* metric = metric::find_metric(name);
  CORRAL_ASSERT(metric != nullptr);
  return add_to(metric->slow ? kSlowGroup : kFastGroup, name, std::move(source));
}

void SeriesTable::unavailable(std::string_view source, std::string_view reason) {
  missing_.push_back({.source = std::string(source), .reason = std::string(reason)});
}

void SeriesTable::unavailable(std::string_view metric, std::string_view source,
                              std::string_view reason) {
  unavailable(fmt::format("{} of {}", metric, source), reason);
}

std::size_t SeriesTable::size() const {
  std::size_t all = 0;
  for (const auto& group : series_) all += group.size();
  return all;
}

void SeriesTable::describe(std::string key, std::string value) {
  descriptions_.push_back({.key = std::move(key), .value = std::move(value)});
}

void Row::add(Column column, BootTime time, double value) {
  if (timed_ != nullptr) timed_->add({.column = column, .time = time, .value = value});
}

}  // namespace corral::collect
