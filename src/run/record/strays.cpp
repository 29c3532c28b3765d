#include "run/record/strays.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <span>

#include "core/json.h"
#include "metric/range.h"

namespace corral::run {
namespace {

std::string name_of(const collect::SeriesInfo& series) {
  const std::string metric(series.metric->name);
  return series.source.empty() ? metric : metric + " of " + series.source;
}

std::string range_of(const collect::SeriesInfo& series) {
  return metric::words(metric::plausible_range(*series.metric), *series.metric);
}

}  // namespace

void Strays::add(const collect::SeriesInfo& series, double value) {
  auto at = std::ranges::find(strays_, &series, &Stray::series);
  if (at == strays_.end()) {
    more_ = strays_.size() == kMost;
    if (more_) return;
    strays_.push_back({&series, value, value, value, 0});
    at = strays_.end() - 1;
  }
  ++at->count;
  // NaN is neither less nor greater.
  at->least = std::fmin(at->least, value);
  at->greatest = std::fmax(at->greatest, value);
}

std::vector<Strays::First> Strays::take_new() {
  std::vector<First> first;
  for (; told_ < strays_.size(); ++told_) {
    const Stray& stray = strays_[told_];
    const auto same_metric = [&](const Stray& other) {
      return other.series->metric == stray.series->metric;
    };
    first.push_back(
        {.text = fmt::format("{} is {:g}, outside {}: such values are stored as read",
                             name_of(*stray.series), stray.first, range_of(*stray.series)),
         .new_metric = std::ranges::none_of(std::span(strays_).first(told_), same_metric)});
  }
  return first;
}

std::vector<codec::Fact> Strays::facts() const {
  std::vector<codec::Fact> facts;
  for (const Stray& stray : strays_) {
    const std::string text = fmt::format("{} {} outside {}, stored as read: {:g} to {:g}",
                                         stray.count, stray.count == 1 ? "value" : "values",
                                         range_of(*stray.series), stray.least, stray.greatest);
    facts.push_back({.kind = codec::FactKind::kInfo,
                     .key = "outside." + name_of(*stray.series),
                     .value = Json(text).dump()});
  }
  if (more_)
    facts.push_back({.kind = codec::FactKind::kInfo,
                     .key = "outside.others",
                     .value = Json("series that are not listed have such values, too").dump()});
  return facts;
}

}  // namespace corral::run
