#include "query/chart/m4/columns.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

namespace corral::query::m4 {
namespace {

using Pair = double __attribute__((vector_size(16)));
constexpr std::size_t kPairs = 4;
constexpr std::size_t kLanes = 2 * kPairs;

Pair load(const double* from) {
  Pair pair;
  std::memcpy(&pair, from, sizeof pair);
  return pair;
}

struct Scan {
  double min, max;
  bool finite;  // else min and max mean nothing
};

// Scans at least one value.
Scan scan(std::span<const double> values) {
  std::array<Pair, kPairs> low, high, zeros{};
  low.fill(Pair{values[0], values[0]});
  high = low;
  const std::size_t whole = values.size() / kLanes * kLanes;
  for (std::size_t i = 0; i < whole; i += kLanes) {
#pragma GCC unroll 4
    for (std::size_t k = 0; k < kPairs; ++k) {
      const Pair pair = load(values.data() + i + 2 * k);
      low[k] = pair < low[k] ? pair : low[k];
      high[k] = pair > high[k] ? pair : high[k];
      zeros[k] += pair * 0.0;  // a value that is not finite makes it NaN for good
    }
  }
  Scan all{.min = low[0][0], .max = high[0][0], .finite = true};
  double zero = 0;
  for (std::size_t k = 0; k < kPairs; ++k) {
    all.min = std::min({all.min, low[k][0], low[k][1]});
    all.max = std::max({all.max, high[k][0], high[k][1]});
    zero += zeros[k][0] + zeros[k][1];
  }
  for (std::size_t i = whole; i < values.size(); ++i) {
    all.min = std::min(all.min, values[i]);
    all.max = std::max(all.max, values[i]);
    zero += values[i] * 0.0;
  }
  all.finite = zero == 0;
  return all;
}

// The first place of a value that is there.
std::size_t find(std::span<const double> values, double wanted) {
  std::size_t i = 0;
  while (values[i] != wanted) ++i;
  return i;
}

void update_min(ColumnState& state, bool first, const ChartPoint& point) {
  if (first || point.value < state.min.value ||
      (point.value == state.min.value && point.x < state.min.x))
    state.min = point;
}
void update_max(ColumnState& state, bool first, const ChartPoint& point) {
  if (first || point.value > state.max.value ||
      (point.value == state.max.value && point.x < state.max.x))
    state.max = point;
}

std::uint32_t saturated(std::uint64_t n) {
  return static_cast<std::uint32_t>(
      std::min<std::uint64_t>(n, std::numeric_limits<std::uint32_t>::max()));
}

}  // namespace

ColumnState& ColumnSet::touch(std::uint32_t column) {
  low_ = std::min(low_, column);
  high_ = std::max(high_, column + 1);
  return columns_[column];
}

bool ColumnSet::earlier(const Candidate& a, const Candidate& b) const {
  if (order_ == Order::kByX && a.point.x != b.point.x) return a.point.x < b.point.x;
  return a.position < b.position;
}

void ColumnSet::offer_first(std::uint32_t column, const Candidate& candidate) {
  ColumnState& state = touch(column);
  if (earlier(candidate, state.first)) state.first = candidate;
}

void ColumnSet::offer_last(std::uint32_t column, const Candidate& candidate) {
  ColumnState& state = touch(column);
  if (earlier(state.last, candidate)) state.last = candidate;
}

void ColumnSet::add_extremes(std::uint32_t column, const Extremes& extremes) {
  ColumnState& state = touch(column);
  state.not_finite += extremes.not_finite;
  if (extremes.points == 0) return;
  update_min(state, state.points == 0, extremes.min);
  update_max(state, state.points == 0, extremes.max);
  state.points += extremes.points;
}

std::uint64_t ColumnSet::add_run(std::span<const std::int64_t> xs, std::span<const double> values,
                                 std::int64_t position) {
  std::uint64_t not_finite = 0;
  for (std::size_t i = 0; i < xs.size();) {
    const std::uint32_t column = grid_.column(xs[i]);
    const std::int64_t border = grid_.border(column + 1);
    // Gallops, then halves: cells are of any size.
    std::size_t low = i + 1;
    std::size_t reach = 1;
    while (low < xs.size() && xs[low] < border) {
      low += reach;
      reach *= 2;
    }
    const std::size_t high = std::min(low, xs.size());
    const auto end = std::lower_bound(xs.begin() + static_cast<std::ptrdiff_t>(i + 1),
                                      xs.begin() + static_cast<std::ptrdiff_t>(high), border);
    const auto n = static_cast<std::size_t>(end - xs.begin()) - i;
    not_finite += add_cell(column, xs.subspan(i, n), values.subspan(i, n),
                           position + static_cast<std::int64_t>(i));
    i += n;
  }
  return not_finite;
}

std::uint64_t ColumnSet::add_cell(std::uint32_t column, std::span<const std::int64_t> xs,
                                  std::span<const double> values, std::int64_t position) {
  ColumnState& state = touch(column);
  const Scan all = scan(values);
  if (!all.finite) return add_slowly(state, xs, values, position);
  const bool first = state.points == 0;
  // The place of an extreme is looked for only when it matters.
  if (first || all.min < state.min.value || (all.min == state.min.value && xs[0] < state.min.x))
    update_min(state, first, {.x = xs[find(values, all.min)], .value = all.min});
  if (first || all.max > state.max.value || (all.max == state.max.value && xs[0] < state.max.x))
    update_max(state, first, {.x = xs[find(values, all.max)], .value = all.max});
  state.points += values.size();
  const Candidate begin{{xs.front(), values.front()}, position};
  const Candidate end{{xs.back(), values.back()}, position + std::ssize(values) - 1};
  if (earlier(begin, state.first)) state.first = begin;
  if (earlier(state.last, end)) state.last = end;
  return 0;
}

std::uint64_t ColumnSet::add_slowly(ColumnState& state, std::span<const std::int64_t> xs,
                                    std::span<const double> values, std::int64_t position) {
  std::uint64_t not_finite = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!std::isfinite(values[i])) {
      ++not_finite;
      continue;
    }
    const Candidate candidate{{xs[i], values[i]}, position + static_cast<std::int64_t>(i)};
    update_min(state, state.points == 0, candidate.point);
    update_max(state, state.points == 0, candidate.point);
    ++state.points;
    if (earlier(candidate, state.first)) state.first = candidate;
    if (earlier(state.last, candidate)) state.last = candidate;
  }
  state.not_finite += not_finite;
  return not_finite;
}

void ColumnSet::flush(ChartSeries& out) {
  const auto begin = static_cast<std::uint32_t>(out.columns.size());
  for (std::uint32_t i = low_; i < high_; ++i) {
    ColumnState& state = columns_[i];
    if (state.not_finite > 0 && !out.rate)
      out.not_finite.push_back({i, saturated(state.not_finite)});
    if (state.points > 0) {
      ChartColumn column{.index = i,
                         .points = saturated(state.points),
                         .first = state.first.point,
                         .min = state.min,
                         .max = state.max,
                         .last = state.last.point};
      // The first point is the earliest of its value, even if a bucket's estimate differs.
      if (column.first.value == column.min.value) column.min.x = column.first.x;
      if (column.first.value == column.max.value) column.max.x = column.first.x;
      if (column.first.x <= column.last.x) {
        for (ChartPoint* point : {&column.min, &column.max})
          point->x = std::clamp(point->x, column.first.x, column.last.x);
      }
      for (ChartPoint* point : {&column.first, &column.min, &column.max, &column.last})
        point->x -= out.origin;
      out.columns.push_back(column);
    }
    state = {};
  }
  low_ = std::numeric_limits<std::uint32_t>::max();
  high_ = 0;
  if (out.columns.size() > begin) out.segments.push_back(begin);
}

}  // namespace corral::query::m4
