#include "analyze/explain/regions.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "core/text.h"
#include "query/series/axis_cells.h"

namespace corral::analyze {
namespace {

constexpr double kMostDeviations = 50;
constexpr double kLeastChange = 0.005;  // part of the values
constexpr Nanos kTogether = std::chrono::seconds(2);
constexpr int kTogetherPart = 100;  // or this part of the time, where it is short

struct PlacedJump {
  std::size_t series = 0;
  Jump jump;
  double score = 0;
  bool taken = false;
};

// The highest score first.
std::vector<PlacedJump> all_jumps(std::span<const JumpingSeries> series) {
  std::vector<PlacedJump> all;
  for (std::size_t i = 0; i < series.size(); ++i) {
    const Jumps& jumps = series[i].jumps;
    for (const Jump& jump : jumps.jumps) {
      const double score = jump_score(jump, jumps.deviation);
      if (score > 0) all.push_back({.series = i, .jump = jump, .score = score});
    }
  }
  std::ranges::stable_sort(all, std::ranges::greater(), &PlacedJump::score);
  return all;
}

// A difference of int64 times may not be one.
double seconds_between(UtcTime from, UtcTime to) {
  return query::difference(ns_of(from), ns_of(to)) * 1e-9;
}

bool are_together(const Jump& a, const Jump& b, const RegionColumns& columns) {
  const auto [first, last] = std::minmax(a.at, b.at);
  if (last - first <= std::max({a.reach, b.reach, std::size_t{1}})) return true;
  const double whole = seconds_between(columns.borders.front(), columns.borders.back());
  const double apart = seconds_between(columns.borders[first], columns.borders[last]);
  return apart <= std::min(seconds(kTogether), whole / kTogetherPart);
}

// "host.disk.busy of sda"
std::string name_with_source(const JumpingSeries& series) {
  return series.metric + (series.source.empty() ? "" : " of " + series.source);
}

std::string describe_region(const Region& region, std::span<const JumpingSeries> series,
                            UtcTime start) {
  const MovedMetric& most = region.moved.front();
  const JumpingSeries& one = series[most.series];
  const std::string begin = time_into_run(seconds_between(start, region.window.from));
  std::string text = region.to_end
                         ? fmt::format("From {} on", begin)
                         : fmt::format("From {} to {}", begin,
                                       time_into_run(seconds_between(start, region.window.to)));
  text += fmt::format(
      ", {} {} from {} to {}", name_with_source(one), most.after > most.before ? "rose" : "fell",
      value_with_unit(most.before, one.unit), value_with_unit(most.after, one.unit));
  if (const std::size_t others = region.moved.size() - 1; others > 0)
    text += fmt::format(", and {} other {} changed", others, others == 1 ? "metric" : "metrics");
  return text + ".";
}

// The region that begins at `all[at]`, with those beside it that are in none yet.
Region gather_region(std::vector<PlacedJump>& all, std::size_t at, const RegionColumns& columns) {
  const Jump& jump = all[at].jump;
  const std::size_t end = std::min(jump.at + jump.length, columns.borders.size() - 1);
  Region region{.window = {.from = columns.borders[jump.at], .to = columns.borders[end]},
                .to_end = end + 1 == columns.borders.size(),
                .score = 0,
                .moved = {},
                .text = {}};
  for (std::size_t i = at; i < all.size(); ++i) {
    PlacedJump& other = all[i];
    if (other.taken || !are_together(jump, other.jump, columns)) continue;
    other.taken = true;
    const auto known = std::ranges::find(region.moved, other.series, &MovedMetric::series);
    if (known != region.moved.end()) continue;
    region.moved.push_back({.series = other.series,
                            .at = columns.borders[other.jump.at],
                            .before = other.jump.before,
                            .after = other.jump.after,
                            .score = other.score});
  }
  region.score = region.moved.front().score * static_cast<double>(region.moved.size());
  return region;
}

}  // namespace

double jump_score(const Jump& jump, double deviation) {
  const double size = std::abs(jump.after - jump.before);
  if (size < kLeastChange * std::max(std::abs(jump.before), std::abs(jump.after))) return 0;
  const double deviations = size < kMostDeviations * deviation ? size / deviation : kMostDeviations;
  return deviations * std::log1p(static_cast<double>(jump.length));
}

double greatest_score(const Jumps& jumps) {
  double greatest = 0;
  for (const Jump& jump : jumps.jumps)
    greatest = std::max(greatest, jump_score(jump, jumps.deviation));
  return greatest;
}

std::vector<Region> find_regions(std::span<const JumpingSeries> series,
                                 const RegionColumns& columns) {
  std::vector<PlacedJump> all = all_jumps(series);
  std::vector<Region> regions;
  for (std::size_t i = 0; i < all.size(); ++i)
    if (!all[i].taken) regions.push_back(gather_region(all, i, columns));
  std::ranges::stable_sort(regions, std::ranges::greater(), &Region::score);
  regions.resize(std::min(regions.size(), kMostRegions));
  for (Region& region : regions) region.text = describe_region(region, series, columns.start);
  return regions;
}

std::string time_into_run(double seconds) {
  if (seconds < 10) return fmt::format("{:.3g} s", seconds);
  if (seconds < 120) return fmt::format("{:.0f} s", seconds);
  const auto minutes = static_cast<std::int64_t>(std::round(seconds / 60));
  if (minutes < 120) return fmt::format("{} min", minutes);
  return fmt::format("{} h {} min", minutes / 60, minutes % 60);
}

std::string value_with_unit(double value, std::string_view unit) {
  if (unit == "share") return fmt::format("{:.3g} %", value * 100);
  if (unit == "B" || unit.starts_with("B/"))
    return (value < 0 ? "-" : "") + human_bytes(std::abs(value)) + std::string(unit.substr(1));
  std::string text = fmt::format("{:.4g}", value);
  if (unit.empty()) return text;
  return text + (unit.starts_with("1/") ? std::string(unit.substr(1)) : " " + std::string(unit));
}

}  // namespace corral::analyze
