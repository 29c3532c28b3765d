#include "analyze/explain/run_data.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <tuple>

#include "core/cpu_list.h"
#include "core/json.h"
#include "core/text.h"
#include "metric/catalogue.h"
#include "query/series/inputs.h"
#include "query/series/window.h"

namespace corral::analyze {
namespace {

// Beyond, integrals come from the pyramids.
constexpr std::uint64_t kMostPoints = 20'000;

MetricMean make_mean(const store::Series& series, const query::WindowStatistics& found) {
  const bool weighted = found.integral && found.integral->covered > 0;
  return {.metric = series.name,
          .source = series.source,
          .unit = unit_of_mean(series),
          .mean = weighted ? found.integral->mean() : found.mean.value_or(0),
          .least = found.min ? found.min->value : 0,
          .most = found.max ? found.max->value : 0,
          .points = found.count};
}

auto key_of(const MetricMean& mean) { return std::tie(mean.metric, mean.source); }

}  // namespace

std::string unit_of_mean(const store::Series& series) {
  const metric::Metric* known = metric::find_metric(series.name);
  const bool rate = series.kind == metric::Kind::kCounter && known != nullptr;
  return rate ? std::string(known->rate_unit) : series.unit;
}

RunData::RunData(std::vector<MetricMean> means,
                 std::vector<std::pair<std::string, std::string>> unavailable)
    : means_(std::move(means)), unavailable_(std::move(unavailable)) {
  std::ranges::stable_sort(means_, {}, key_of);
}

Result<RunData> RunData::read(const store::Reader& store, const store::Run& run, Window window,
                              std::span<const std::string_view> metrics) {
  std::vector<store::Series> wanted = TRY(store.series_of(run.id));
  std::erase_if(wanted, [&](const store::Series& series) {
    const bool elsewhere = series.owner == metric::Owner::kHost && series.host != run.host;
    return elsewhere || std::ranges::find(metrics, series.name) == metrics.end();
  });
  std::vector<query::SeriesInput> inputs;
  inputs.reserve(wanted.size());
  for (const store::Series& series : wanted) {
    inputs.push_back({.series = series.id,
                      .channel = series.kind == metric::Kind::kCounter ? store::Channel::kRate
                                                                       : store::Channel::kValue});
  }
  std::vector<MetricMean> means;
  std::map<std::string, std::uint64_t, std::less<>> few;
  const auto read_one = [&](store::PointView& view, std::size_t i) -> Result<> {
    const auto found = TRY(query::window_statistics(view, {.series = {inputs[i]},
                                                           .from = ns_of(window.from),
                                                           .to = ns_of(window.to),
                                                           .deviation = false,
                                                           .max_points = kMostPoints}));
    const std::uint64_t points = found.front().count;
    if (points >= kLeastPoints) {
      means.push_back(make_mean(wanted[i], found.front()));
    } else if (points > 0) {
      std::uint64_t& most = few[wanted[i].name];
      most = std::max(most, points);
    }
    return {};
  };
  TRY(query::view_each(store, inputs, read_one));
  RunData data(std::move(means), run.unavailable);
  data.few_ = std::move(few);
  return data;
}

std::span<const MetricMean> RunData::all_of(std::string_view metric) const {
  const auto first = std::ranges::lower_bound(means_, metric, {}, &MetricMean::metric);
  const auto end = std::find_if(first, means_.end(),
                                [&](const MetricMean& mean) { return mean.metric != metric; });
  return {first, end};
}

const MetricMean* RunData::greatest(std::string_view metric) const {
  const auto all = all_of(metric);
  return all.empty() ? nullptr : &*std::ranges::max_element(all, {}, &MetricMean::mean);
}

const MetricMean* RunData::of_source(std::string_view metric, std::string_view source) const {
  const auto all = all_of(metric);
  const auto found = std::ranges::find(all, source, &MetricMean::source);
  return found == all.end() ? nullptr : &*found;
}

const std::string* RunData::reason_of(std::string_view metric) const {
  const std::string* of_group = nullptr;
  for (const auto& [what, reason] : unavailable_) {
    if (what == metric) return &reason;
    const std::size_t of = what.find(" of ");
    std::string_view name = std::string_view(what).substr(0, of);
    if (name.ends_with(".*")) {
      // "host.gpu.* of gpu0" names a source. "run.* of short-lived processes" is no metric's
      // reason.
      const bool lacks_a_part = of != std::string::npos && what.find(' ', of + 4) < what.size();
      if (lacks_a_part) continue;
      name.remove_suffix(2);
    }
    const bool matches = metric == name || (metric.starts_with(name) && metric[name.size()] == '.');
    if (matches && of_group == nullptr) of_group = &reason;
  }
  return of_group;
}

bool RunData::is_unavailable(std::string_view metric) const { return reason_of(metric) != nullptr; }

std::vector<int> allowed_cpus(const store::Run& run) {
  std::string list;
  for (const auto& [key, text] : run.info) {
    if (key != "set_up.cpus_allowed") continue;
    const auto fact = Json::parse(text);
    if (fact && fact->as_string() != nullptr) list = *fact->as_string();
  }
  for (const auto& [key, cpus] : run.tags)
    if (key == "corral.cpus") list = cpus;
  return parse_cpu_list(list).value_or(std::vector<int>());
}

std::map<std::string, double, std::less<>> link_speeds(const store::Run& run) {
  constexpr std::string_view kBegin = "device.";
  std::map<std::string, double, std::less<>> speeds;
  for (const auto& [key, text] : run.info) {
    const std::size_t dot = key.rfind('.');
    if (!key.starts_with(kBegin) || dot < kBegin.size()) continue;
    const std::string_view fact = std::string_view(key).substr(dot + 1);
    if (fact != kLinkFact && fact != kPcieFact) continue;
    const auto value = Json::parse(text);
    const std::string* number = value ? value->as_string() : nullptr;
    const double speed = number != nullptr ? parse_double(*number).value_or(0) : 0;
    if (speed > 0 && std::isfinite(speed))
      speeds[key.substr(kBegin.size(), dot - kBegin.size())] = speed;
  }
  return speeds;
}

std::string RunData::why_not(std::string_view metric) const {
  if (const auto few = few_.find(metric); few != few_.end())
    return fmt::format("{} {} in this time, fewer than {}", few->second,
                       few->second == 1 ? "point" : "points", kLeastPoints);
  const std::string* reason = reason_of(metric);
  return reason != nullptr ? *reason : "the run has no points of it in this time";
}

}  // namespace corral::analyze
