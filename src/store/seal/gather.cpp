#include "store/seal/gather.h"

#include <algorithm>
#include <numeric>

namespace corral::store {
namespace {

using codec::SamplingGroup;

template <class T>
void reorder(std::vector<T>& items, const std::vector<std::uint32_t>& order) {
  std::vector<T> sorted;
  sorted.reserve(items.size());
  for (const std::uint32_t from : order) sorted.push_back(items[from]);
  items = std::move(sorted);
}

void sort_by_time(SamplingGroup& group) {
  if (std::ranges::is_sorted(group.times)) return;
  std::vector<std::uint32_t> order(group.times.size());
  std::iota(order.begin(), order.end(), 0u);
  std::ranges::stable_sort(order, {}, [&](std::uint32_t row) { return group.times[row]; });
  reorder(group.times, order);
  if (!group.steps.empty()) reorder(group.steps, order);
  for (auto& column : group.columns) reorder(column.values, order);
}

template <class T>
std::vector<T> copy_range(const std::vector<T>& all, std::size_t first, std::size_t rows) {
  const auto from = all.begin() + static_cast<std::ptrdiff_t>(first);
  return {from, from + static_cast<std::ptrdiff_t>(rows)};
}

SamplingGroup copy_rows(const SamplingGroup& group, std::size_t first, std::size_t rows) {
  SamplingGroup piece{.times = copy_range(group.times, first, rows), .steps = {}, .columns = {}};
  if (!group.steps.empty()) piece.steps = copy_range(group.steps, first, rows);
  for (const auto& column : group.columns)
    piece.columns.push_back(
        {.series = column.series, .values = copy_range(column.values, first, rows)});
  return piece;
}

}  // namespace

std::size_t Gather::add_part(std::vector<std::int64_t> times, std::vector<std::int64_t> steps) {
  CORRAL_ASSERT(steps.empty() || steps.size() == times.size());
  parts_.push_back({std::move(times), std::move(steps)});
  return parts_.size() - 1;
}

void Gather::add_column(SeriesId series, std::size_t part, std::span<const double> values) {
  CORRAL_ASSERT(values.size() == parts_[part].times.size());
  if (values.empty()) return;
  Pieces& pieces = pieces_[{series, !parts_[part].steps.empty()}];
  pieces.parts.push_back(static_cast<std::uint32_t>(part));
  pieces.values.push_back(values);
}

void Gather::add(const codec::SamplesBody& samples, const SeriesMap& series,
                 const ClockAnchor& anchor) {
  for (const codec::SampleGroup& group : samples.groups) add(group, series, anchor);
}

void Gather::add(const codec::SampleGroup& group, const SeriesMap& series,
                 const ClockAnchor& anchor) {
  std::map<std::vector<bool>, std::size_t> parts;  // by presence; empty: all rows
  for (const codec::Column& column : group.columns) {
    const auto known = series.find(column.series);
    if (known == series.end() || column.values.empty()) continue;
    const auto [part, fresh] = parts.try_emplace(column.present, 0);
    if (fresh) {
      std::vector<std::int64_t> times, steps;
      times.reserve(column.values.size());
      for (std::size_t row = 0; row < group.times.size(); ++row) {
        if (!column.present.empty() && !column.present[row]) continue;
        times.push_back(ns_of(anchor.to_utc(group.times[row])));
        if (!group.steps.empty()) steps.push_back(group.steps[row]);
      }
      part->second = add_part(std::move(times), std::move(steps));
    }
    add_column(known->second, part->second, column.values);
  }
}

void Gather::add(std::span<const SamplingGroup> groups) {
  for (const SamplingGroup& group : groups) {
    const std::size_t part = add_part(group.times, group.steps);
    for (const auto& column : group.columns) add_column(column.series, part, column.values);
  }
}

SamplingGroup Gather::join(const std::vector<std::uint32_t>& parts) const {
  SamplingGroup group;
  for (const std::uint32_t number : parts) {
    const Part& part = parts_[number];
    group.times.insert(group.times.end(), part.times.begin(), part.times.end());
    group.steps.insert(group.steps.end(), part.steps.begin(), part.steps.end());
  }
  return group;
}

std::vector<SamplingGroup> Gather::take() {
  std::map<std::vector<std::uint32_t>, std::size_t> numbers;  // parts -> place in `groups`
  std::vector<SamplingGroup> groups;
  for (auto& [key, pieces] : pieces_) {
    const auto [known, fresh] = numbers.try_emplace(pieces.parts, groups.size());
    if (fresh) groups.push_back(join(pieces.parts));
    SamplingGroup& group = groups[known->second];
    SamplingGroup::Column& column = group.columns.emplace_back();
    column.series = key.first;
    column.values.reserve(group.times.size());
    for (const auto& values : pieces.values)
      column.values.insert(column.values.end(), values.begin(), values.end());
  }
  parts_.clear();
  pieces_.clear();
  for (SamplingGroup& group : groups) sort_by_time(group);
  return groups;
}

std::vector<SamplingGroup> cut(std::vector<SamplingGroup> groups, std::size_t rows) {
  std::vector<SamplingGroup> out;
  for (SamplingGroup& group : groups) {
    if (group.times.size() <= rows) {
      out.push_back(std::move(group));
      continue;
    }
    for (std::size_t first = 0; first < group.times.size(); first += rows)
      out.push_back(copy_rows(group, first, std::min(rows, group.times.size() - first)));
  }
  return out;
}

}  // namespace corral::store
