#include "analyze/explain/interest.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "analyze/explain/run_data.h"
#include "query/chart/chart.h"
#include "query/series/resample.h"

namespace corral::analyze {
namespace {

constexpr double kGreatestValue = 1e150;  // its square fits a double; beyond it is no value

// ---- series

struct ReadSeries {
  SeriesInterest found;
  Sketch sketch;  // empty: it is folded or says nothing
};

ReadSeries judge_series(const std::vector<double>& columns, double quantum,
                        const InterestColumns& layout) {
  ReadSeries one;
  one.found.shape = find_shape(columns, quantum);
  const SeriesClass type = one.found.shape.type;
  if (type == SeriesClass::kFew || type == SeriesClass::kConstant) return one;
  one.found.step_correlation = rank_correlation(columns, layout.unit_seconds);
  one.sketch = make_sketch(columns);
  return one;
}

ReadSeries read_one(const query::ResampledSeries& resampled, const InterestColumns& layout) {
  std::vector<double> columns, ends;
  columns.reserve(resampled.cells.size());
  for (const query::Cell& cell : resampled.cells) {
    const bool usable = cell.count > 0 && std::abs(cell.min) <= kGreatestValue &&
                        std::abs(cell.max) <= kGreatestValue;
    if (usable) ends.insert(ends.end(), {cell.min, cell.max});
    // A sum of equal values divided by their number may not be the value.
    columns.push_back(!usable                ? std::numeric_limits<double>::quiet_NaN()
                      : cell.min == cell.max ? cell.min
                                             : cell.mean());
  }
  return judge_series(columns, least_difference(std::move(ends)), layout);
}

Result<std::vector<ReadSeries>> read_all(const store::Reader& store,
                                         const std::vector<store::Series>& wanted,
                                         const InterestColumns& layout, const Left& left) {
  std::vector<query::SeriesInput> inputs;
  inputs.reserve(wanted.size());
  for (const store::Series& series : wanted)
    inputs.push_back(query::input_from(series, query::ChartMode::kAuto));
  query::ResampleRequest request{.series = {},
                                 .grid = {},
                                 .exactness = query::Exactness::kAligned,
                                 .ends = false,
                                 .borders = {}};
  for (const UtcTime border : layout.borders) request.borders.push_back(ns_of(border));
  std::vector<ReadSeries> all;
  const auto read = [&](store::PointView& view, std::size_t i) -> Result<> {
    TRY(check_waiting(left));
    request.series = {inputs[i]};
    const auto resampled = TRY(query::resample(view, request));
    all.push_back(read_one(resampled.front(), layout));
    SeriesInterest& found = all.back().found;
    found.id = wanted[i].id;
    found.metric = wanted[i].name;
    found.source = wanted[i].source;
    found.unit = unit_of_mean(wanted[i]);
    return {};
  };
  TRY(query::view_each(store, inputs, read));
  return all;
}

// ---- interest

bool are_alike(const SeriesShape& one, const SeriesShape& other) {
  return one.type == other.type && one.jumps.jumps.size() == other.jumps.jumps.size();
}

void name_duplicates(std::vector<ReadSeries>& all) {
  std::vector<Sketch> sketches;
  sketches.reserve(all.size());
  for (ReadSeries& one : all) sketches.push_back(std::move(one.sketch));
  const auto duplicates = find_duplicates(sketches);
  for (std::size_t i = 0; i < all.size(); ++i) {
    // Their sketches are alike; a stall that only one of them has shows in its shape.
    if (!duplicates[i] || !are_alike(all[i].found.shape, all[*duplicates[i]].found.shape)) continue;
    all[i].found.shape.type = SeriesClass::kDuplicate;
    all[i].found.of = duplicates[i];
  }
}

// The share of the other series whose score is lower, or how the series follows the step time.
void measure_interest(std::vector<ReadSeries>& all) {
  std::vector<double> scores;
  scores.reserve(all.size());
  for (const ReadSeries& one : all) scores.push_back(greatest_score(one.found.shape.jumps));
  std::vector<double> sorted(scores);
  std::ranges::sort(sorted);
  for (std::size_t i = 0; i < all.size(); ++i) {
    SeriesInterest& found = all[i].found;
    const auto lower = std::ranges::lower_bound(sorted, scores[i]) - sorted.begin();
    if (scores[i] > 0)
      found.interest =
          all.size() == 1 ? 1 : static_cast<double>(lower) / static_cast<double>(all.size() - 1);
    found.interest = std::max(found.interest, std::abs(found.step_correlation.value_or(0)));
  }
}

bool is_folded(const SeriesInterest& series) {
  const SeriesClass type = series.shape.type;
  return type == SeriesClass::kConstant || type == SeriesClass::kDuplicate ||
         type == SeriesClass::kFew;
}

std::vector<SeriesInterest> in_order(std::vector<ReadSeries> all) {
  std::vector<std::size_t> order(all.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, {}, [&](std::size_t i) {
    return std::pair(is_folded(all[i].found), -all[i].found.interest);
  });
  std::vector<std::size_t> place(all.size());
  for (std::size_t i = 0; i < order.size(); ++i) place[order[i]] = i;
  std::vector<SeriesInterest> sorted;
  sorted.reserve(all.size());
  for (const std::size_t i : order) {
    sorted.push_back(std::move(all[i].found));
    if (auto& of = sorted.back().of) of = place[*of];
  }
  return sorted;
}

std::vector<Region> regions_of(const std::vector<SeriesInterest>& series,
                               const InterestColumns& layout, UtcTime start) {
  std::vector<JumpingSeries> jumping;
  jumping.reserve(series.size());
  for (const SeriesInterest& one : series) {
    jumping.push_back({.metric = one.metric, .source = one.source, .unit = one.unit, .jumps = {}});
    if (!is_folded(one)) jumping.back().jumps = one.shape.jumps;
  }
  return find_regions(jumping, {.borders = layout.borders, .start = start});
}

}  // namespace

Result<Interest> find_interest(const store::Reader& store, const store::Run& run,
                               const InterestOptions& options) {
  const UtcTime end = run.end.value_or(run.newest);
  Interest found;
  found.window = {.from = std::max(run.start, options.from.value_or(run.start)),
                  .to = std::min(end, options.to.value_or(end))};
  found.provisional = !run.end;
  if (found.window.from >= found.window.to) {
    if (!options.from && !options.to) return found;  // it has just begun
    return fail(Code::kInvalidArgument, "the time is empty: it ends before it begins");
  }
  found.columns =
      TRY(read_training_units(
              store, run,
              {.window = found.window, .left = options.left, .known = options.known_units}))
          .columns;
  std::vector<store::Series> wanted = TRY(store.series_of(run.id));
  std::erase_if(wanted, [&](const store::Series& series) {
    return series.owner == metric::Owner::kHost && series.host != run.host;
  });
  if (wanted.size() > kMostInterestSeries) {
    found.left_out = wanted.size() - kMostInterestSeries;
    wanted.resize(kMostInterestSeries);
  }
  std::vector<ReadSeries> all = TRY(read_all(store, wanted, found.columns, options.left));
  if (found.columns.unit) {
    all.push_back(judge_series(found.columns.unit_seconds, 0, found.columns));
    SeriesInterest& steps = all.back().found;
    steps.metric = std::string(unit_name(*found.columns.unit)) + " time";
    steps.unit = "s";
    steps.step_correlation.reset();
    all.back().sketch = {};
  }
  name_duplicates(all);
  measure_interest(all);
  found.series = in_order(std::move(all));
  found.regions = regions_of(found.series, found.columns, run.start);
  return found;
}

}  // namespace corral::analyze
