#include "query/sparkline.h"

#include <algorithm>
#include <unordered_map>

#include "metric/loss_name.h"
#include "query/chart/chart.h"
#include "query/loss.h"
#include "query/series/resample.h"

namespace corral::query {
namespace {

using Chosen = std::unordered_map<RunId, store::Series>;

// Among several sources the run as a whole, else the one with the newest point.
const store::Series* named_series(std::span<const store::Series> series, const std::string& name) {
  const store::Series* best = nullptr;
  const auto rank = [](const store::Series& s) { return std::pair(s.source.empty(), s.last_time); };
  for (const store::Series& s : series) {
    if (s.name != name || s.points == 0) continue;
    if (best == nullptr || rank(s) > rank(*best)) best = &s;
  }
  return best;
}

Result<Chosen> choose_series(const store::Reader& store, const SparklineRequest& request) {
  const std::string_view suffix = request.metric.empty() ? metric::kLossSuffix : request.metric;
  std::unordered_map<RunId, std::vector<store::Series>> by_run;
  for (auto& [run, series] : TRY(store.series_ending(request.runs, suffix)))
    by_run[run].push_back(std::move(series));
  Chosen chosen;
  for (const auto& [run, series] : by_run) {
    const store::Series* one =
        request.metric.empty() ? loss_series(series) : named_series(series, request.metric);
    if (one != nullptr) chosen.emplace(run, *one);
  }
  return chosen;
}

std::optional<Sparkline> make_sparkline(const std::vector<Cell>& cells,
                                        const store::Series& series) {
  Sparkline line;
  line.metric = series.name;
  bool any = false;
  for (const Cell& cell : cells) {
    line.means.push_back(cell.count > 0 ? std::optional(cell.mean()) : std::nullopt);
    if (cell.count == 0) continue;
    line.min = any ? std::min(line.min, cell.min) : cell.min;
    line.max = any ? std::max(line.max, cell.max) : cell.max;
    if (!any) line.first = cell.first;
    line.last = cell.last;
    any = true;
  }
  return any ? std::optional(std::move(line)) : std::nullopt;
}

Result<std::optional<Sparkline>> reduce(store::PointView& view, const store::Series& series,
                                        std::uint32_t points) {
  ResampleRequest request;
  request.series = {input_from(series, ChartMode::kAuto)};
  request.grid = {.axis = GridAxis::kTime,
                  .from = ns_of(series.first),
                  .to = add_clipped(ns_of(series.last_time), 1),
                  .columns = points};
  request.exactness = Exactness::kAligned;
  const auto one = TRY(resample(view, request));
  auto line = make_sparkline(one.front().cells, series);
  if (line) line->rate = as_rate(ChartMode::kAuto, series.kind);
  return line;
}

}  // namespace

Result<std::vector<std::optional<Sparkline>>> sparklines(const store::Reader& store,
                                                         const SparklineRequest& request) {
  const Chosen chosen = TRY(choose_series(store, request));
  std::vector<RunId> runs;
  std::vector<SeriesInput> inputs;
  for (const auto& [run, series] : chosen) {
    runs.push_back(run);
    inputs.push_back({.series = series.id});
  }
  std::unordered_map<RunId, Sparkline> lines;
  const auto read = [&](store::PointView& view, std::size_t i) -> Result<> {
    if (auto line = TRY(reduce(view, chosen.at(runs[i]), request.points)))
      lines.insert_or_assign(runs[i], *std::move(line));
    return {};
  };
  TRY(view_each(store, inputs, read));
  std::vector<std::optional<Sparkline>> answer;
  for (const RunId run : request.runs) {
    const auto line = lines.find(run);
    answer.push_back(line != lines.end() ? std::optional(line->second) : std::nullopt);
  }
  return answer;
}

}  // namespace corral::query
