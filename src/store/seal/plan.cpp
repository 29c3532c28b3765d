#include "store/seal/plan.h"

#include <algorithm>
#include <array>
#include <limits>

#include "store/seal/blocks.h"
#include "store/seal/gather.h"

namespace corral::store {
namespace {

using codec::SamplingGroup;

NewRowGroup row_group_of(std::int64_t slice, RowGroupState state,
                         std::vector<SamplingGroup> groups) {
  NewRowGroup made{.slice = slice,
                   .id = {},
                   .state = state,
                   .t0 = std::numeric_limits<std::int64_t>::max(),
                   .t1 = std::numeric_limits<std::int64_t>::min(),
                   .points = 0,
                   .data = {}};
  std::map<SeriesId, std::int64_t> points;
  for (const SamplingGroup& group : groups) {
    made.t0 = std::min(made.t0, group.times.front());
    made.t1 = std::max(made.t1, group.times.back());
    for (const auto& column : group.columns)
      made.points = std::max(
          made.points, points[column.series] += static_cast<std::int64_t>(group.times.size()));
  }
  groups = cut(std::move(groups), codec::kColumnEntries);
  made.data = codec::encode_row_group(
      groups, state == RowGroupState::kSettled ? codec::Effort::kBest : codec::Effort::kFast);
  return made;
}

// The slice that takes the next series of a kind; -1: none does.
struct OpenSlice {
  std::int64_t slice = -1;
  std::size_t members = kSliceSeries;
};

// Gives every series without a slice one; those of a sampling group come one after another. A
// host's series outlive the run, and so they share no slice with the run's.
void deal(BatchesToSeal& work, SealPlan& plan) {
  std::int64_t next = 0;
  std::array<OpenSlice, 2> open;
  for (const auto& [series, taken] : work.slices) {
    next = std::max(next, taken + 1);
    OpenSlice& mine = open.at(work.of_host.contains(series) ? 1 : 0);
    if (taken > mine.slice) mine = {.slice = taken, .members = 0};
    if (taken == mine.slice) ++mine.members;
  }
  for (const SamplingGroup& group : work.groups) {
    for (const auto& column : group.columns) {
      if (work.slices.contains(column.series)) continue;
      OpenSlice& mine = open.at(work.of_host.contains(column.series) ? 1 : 0);
      if (mine.members == kSliceSeries) mine = {.slice = next++, .members = 0};
      ++mine.members;
      work.slices.emplace(column.series, mine.slice);
      plan.dealt.emplace_back(column.series, mine.slice);
    }
  }
}

// The parts of a sampling group that belong to different slices.
std::map<std::int64_t, SamplingGroup> by_slice(SamplingGroup group,
                                               const std::map<SeriesId, std::int64_t>& slices) {
  std::map<std::int64_t, SamplingGroup> parts;
  for (auto& column : group.columns) {
    SamplingGroup& part = parts[slices.at(column.series)];
    if (part.columns.empty()) {
      part.times = group.times;
      part.steps = group.steps;
    }
    part.columns.push_back(std::move(column));
  }
  return parts;
}

}  // namespace

std::int64_t buckets_in_row(std::int64_t blocks, int tier, std::int64_t no) {
  std::int64_t children = blocks;  // blocks, or complete rows of the tier below
  for (int below = 0; below < tier; ++below) children /= below == 0 ? kRowBlocks : kTierRows;
  const std::int64_t most = tier == 0 ? kRowBlocks : kTierRows;
  const std::int64_t mine = std::clamp<std::int64_t>(children - no * most, 0, most);
  return mine * static_cast<std::int64_t>(codec::kLowerBuckets) / most;
}

SealPlan seal_batches(BatchesToSeal work) {
  SealPlan plan;
  plan.session = work.session;
  deal(work, plan);
  plan.batches = std::move(work.rows);
  std::map<std::int64_t, std::vector<SamplingGroup>> slices;
  for (SamplingGroup& group : work.groups) {
    for (auto& [slice, part] : by_slice(std::move(group), work.slices))
      slices[slice].push_back(std::move(part));
  }
  for (auto& [slice, groups] : slices) {
    SliceStatistics& statistics = plan.statistics[slice];
    const auto before = work.statistics.find(slice);
    if (before != work.statistics.end()) statistics = std::move(before->second);
    add_groups(statistics, groups);
    plan.new_groups.push_back(row_group_of(slice, work.state, std::move(groups)));
  }
  return plan;
}

Result<SealPlan> seal_row_groups(RowGroupsToSeal work, const ReadPyramidRow& read) {
  SealPlan plan;
  plan.session = work.session;
  plan.row_groups = std::move(work.rows);
  BlockMaker maker(plan, work.series, read);
  std::vector<SamplingGroup> rest;
  for (SamplingGroup& group : work.groups) {
    SamplingGroup left = TRY(maker.make(std::move(group)));
    if (!left.times.empty()) rest.push_back(std::move(left));
  }
  maker.finish();
  if (!rest.empty()) {
    plan.new_groups.push_back(row_group_of(work.slice, work.state, std::move(rest)));
    plan.new_groups.back().id = plan.row_groups.back();
  }
  return plan;
}

}  // namespace corral::store
