#include "analyze/changes.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <tuple>

#include "query/series/resample.h"

namespace corral::analyze {
namespace {

constexpr std::size_t kPairsAtOnce = 256;  // in one snapshot
constexpr double kFewPoints = 2048;        // points in a window
constexpr double kPointsOfColumn = 320;    // somewhat more than a bucket's
constexpr double kRounding = 1e-12;        // relative to the greatest magnitude
constexpr double kGreatest = 1e150;        // the square fits a double; greater values are ignored

struct SampleSource {
  query::SeriesInput input;
  query::AxisGrid grid;
};
struct Comparison {
  SampleSource after, before;
};

// The range of an axis that a series' points span; for steps, by its first and newest point.
double lifetime(const store::Series& info, query::GridAxis axis) {
  if (axis == query::GridAxis::kTime)
    return query::difference(ns_of(info.first), ns_of(info.last_time)) + 1;
  const std::int64_t first = info.first_step.value_or(0);
  return std::abs(query::difference(first, info.last_step.value_or(first))) + 1;
}

// Columns of the window: fewer where there are so many points that reading them one by one takes
// long, but not so many that a column has a bucket of the pyramid.
std::uint32_t choose_columns(const store::Series& info, const ChangeWindow& window,
                             query::GridAxis axis) {
  const double share =
      std::min(1.0, query::difference(window.from, window.to) / lifetime(info, axis));
  const double points = static_cast<double>(info.points) * share;
  if (points <= kFewPoints) return kChangeColumns;
  return static_cast<std::uint32_t>(
      std::clamp(points / kPointsOfColumn, double{kLeastChangeColumns}, double{kChangeColumns}));
}

// As many columns as give them the length of the window's.
std::uint32_t columns_against(const query::AxisGrid& window, const ChangeWindow& against) {
  const double length = query::difference(window.from, window.to) / window.columns;
  const double columns = std::round(query::difference(against.from, against.to) / length);
  return static_cast<std::uint32_t>(std::clamp(columns, 1.0, double{kMostAgainstColumns}));
}

Result<> check_window(const ChangeWindow& window) {
  if (window.from < window.to) return {};
  return fail(Code::kInvalidArgument, fmt::format("a window must end after it begins, got {} to {}",
                                                  window.from, window.to));
}

// ---- which windows
class ComparisonMaker {
 public:
  explicit ComparisonMaker(const ChangesRequest& request) : request_(request) {
    for (const Baseline& one : request.baseline) baselines_[one.series] = &one;
  }

  Result<std::vector<Comparison>> run(const store::Reader& store) {
    TRY(check());
    std::vector<SeriesId> ids = request_.series;
    for (const Baseline& one : request_.baseline) ids.push_back(one.against);
    records_ = TRY(query::read_series(store, std::move(ids)));
    std::vector<Comparison> pairs;
    for (std::size_t i = 0; i < request_.series.size(); ++i) pairs.push_back(TRY(pair(i)));
    return pairs;
  }

 private:
  [[nodiscard]] query::AxisGrid make_grid(const ChangeWindow& window, std::uint32_t columns) const {
    return {.axis = request_.axis, .from = window.from, .to = window.to, .columns = columns};
  }

  [[nodiscard]] Result<> check() const {
    TRY(check_window(request_.window));
    if (request_.against) TRY(check_window(*request_.against));
    if (!request_.origins.empty() && request_.origins.size() != request_.series.size())
      return fail(Code::kInvalidArgument, "origins must be one for each series");
    const std::set<SeriesId> all(request_.series.begin(), request_.series.end());
    for (const Baseline& one : request_.baseline) {
      TRY(check_window(one.window));
      if (!all.contains(one.series))
        return fail(
            Code::kInvalidArgument,
            fmt::format("the baseline's series {} is not one of the series", one.series.value));
    }
    return {};
  }

  Result<Comparison> pair(std::size_t i) const {
    const SeriesId id = request_.series[i];
    const store::Series& info = records_.at(id);
    query::SeriesInput input = query::input_from(info, request_.mode);
    if (!request_.origins.empty()) input.origin = request_.origins[i];
    const query::AxisGrid grid =
        make_grid(request_.window, choose_columns(info, request_.window, request_.axis));
    const auto with = [&](const query::SeriesInput& other, const ChangeWindow& window) {
      return Comparison{.after = {input, grid},
                        .before = {other, make_grid(window, columns_against(grid, window))}};
    };
    const auto found = baselines_.find(id);
    if (found == baselines_.end())
      return with(input, request_.against.value_or(window_before(request_.window)));
    const store::Series& other = records_.at(found->second->against);
    if (other.kind != info.kind || other.unit != info.unit) {
      return fail(Code::kInvalidArgument,
                  fmt::format("a baseline must measure the same: {} ({}) and {} ({}) differ in "
                              "unit or kind",
                              id.value, info.name, other.id.value, other.name));
    }
    return with({.series = other.id, .channel = input.channel}, found->second->window);
  }

  const ChangesRequest& request_;
  std::map<SeriesId, const Baseline*> baselines_;
  query::SeriesRecords records_;
};

// ---- their values
struct Sample {
  std::vector<double> values;
  double least = std::numeric_limits<double>::infinity();
  double most = -std::numeric_limits<double>::infinity();
  bool means = false;
  bool lost = false;

  void add(const query::Cell& cell) {
    if (cell.count == 0) return;
    // Dividing a sum of equal values may not give the value.
    values.push_back(cell.min == cell.max ? cell.min : cell.mean());
    least = std::min(least, cell.min);
    most = std::max(most, cell.max);
    means = means || cell.count > 1;
  }
};

Result<Sample> read_sample(store::PointView& view, const SampleSource& side) {
  const auto all = TRY(query::resample(view, {.series = {side.input},
                                              .grid = side.grid,
                                              .exactness = query::Exactness::kAligned,
                                              .ends = false}));
  Sample sample;
  for (const query::Cell& cell : all.front().cells) sample.add(cell);
  std::erase_if(sample.values, [](double v) { return !(std::abs(v) <= kGreatest); });
  sample.lost = all.front().lost.points > 0 || all.front().lost.spans;
  return sample;
}

bool is_flat(const Sample& a, const Sample& b) {
  const double least = std::min(a.least, b.least);
  const double most = std::max(a.most, b.most);
  return most - least <= kRounding * std::max(std::abs(least), std::abs(most));
}

Result<> compare(store::PointView& view, const Comparison& pair, Changes& out) {
  Sample after = TRY(read_sample(view, pair.after));
  if (after.values.size() < kLeastValues) {
    ++out.too_few;
    return {};
  }
  Sample before = TRY(read_sample(view, pair.before));
  if (before.values.size() < kLeastValues) {
    ++out.too_few;
  } else if (is_flat(before, after)) {
    ++out.flat;
  } else {
    out.changes.push_back({.series = pair.after.input.series,
                           .difference = sample_difference(before.values, after.values),
                           .rate = pair.after.input.channel == store::Channel::kRate,
                           .means = before.means || after.means,
                           .lost = before.lost || after.lost});
  }
  return {};
}

void rank(std::vector<Change>& changes) {
  std::ranges::stable_sort(changes, std::greater<>(), [](const Change& c) {
    return std::pair(c.difference.ks, std::abs(c.difference.cohens_d));
  });
}

}  // namespace

ChangeWindow window_before(const ChangeWindow& window) {
  const std::uint64_t length = query::distance(window.from, window.to);
  const std::uint64_t room = query::distance(std::numeric_limits<std::int64_t>::min(), window.from);
  const std::uint64_t wanted = length > room / 4 ? room : 4 * length;
  const auto from = static_cast<std::uint64_t>(window.from) - wanted;
  return {.from = static_cast<std::int64_t>(from), .to = window.from};
}

Result<Changes> find_changes(const store::Reader& store, const ChangesRequest& request) {
  const std::vector<Comparison> pairs = TRY(ComparisonMaker(request).run(store));
  Changes out;
  for (std::size_t i = 0; i < pairs.size(); i += kPairsAtOnce) {
    const auto lot = std::span(pairs).subspan(i, std::min(kPairsAtOnce, pairs.size() - i));
    std::vector<SeriesId> ids;
    for (const Comparison& pair : lot)
      ids.insert(ids.end(), {pair.after.input.series, pair.before.input.series});
    const auto read = [&](store::PointView& view) -> Result<> {
      for (const Comparison& pair : lot) TRY(compare(view, pair, out));
      return {};
    };
    TRY(store.view(query::distinct(std::move(ids)), read));
  }
  rank(out.changes);
  return out;
}

}  // namespace corral::analyze
