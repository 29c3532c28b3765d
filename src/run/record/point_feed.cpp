#include "run/record/point_feed.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <span>
#include <utility>

#include "metric/catalogue.h"

namespace corral::run {
namespace {

using collect::foreign::ForeignPoint;
using collect::foreign::ForeignSeries;
using collect::foreign::PointQueue;
using collect::foreign::SeriesNumber;

// Keeps a frame below its limit: a point takes less than 32 bytes before compression.
constexpr std::size_t kPointsPerFrame = 65536;

// Returns the number of first points that form one row: one time, one step, no series twice.
std::size_t row_length(std::span<const ForeignPoint> points) {
  std::size_t n = 1;
  const auto same_row = [&](const ForeignPoint& point) {
    return point.time == points[0].time && point.step == points[0].step &&
           point.series > points[n - 1].series;
  };
  while (n < points.size() && same_row(points[n])) ++n;
  return n;
}

void add_rows(std::span<const std::size_t> rows, std::span<const ForeignPoint> points,
              codec::SampleGroup& group) {
  for (const std::size_t row : rows) {
    group.times.push_back(points[row].time);
    if (points[row].step) group.steps.push_back(*points[row].step);
  }
}

// Corral's own metrics have names without a source; a foreign series of that name gets one.
std::string source_of(const ForeignSeries& series) {
  const bool taken = series.source.empty() && metric::find_metric(series.name) != nullptr;
  return taken ? "reported" : series.source;
}

}  // namespace

codec::SchemaBody PointFeed::declare(const PointQueue::Drained& drained, bool workload) {
  codec::SchemaBody schema;
  for (const ForeignSeries& series : drained.series) {
    id_of_.push_back(ids_.next++);
    owner_of_.push_back(series.owner);
    auto& list = series.owner == metric::Owner::kRun ? schema.series : undeclared_;
    list.push_back({.id = id_of_.back(),
                    .owner = series.owner,
                    .kind = series.kind,
                    .aggregation = metric::Aggregation::kMean,
                    .name = series.name,
                    .source = source_of(series),
                    .unit = series.unit});
  }
  if (workload)
    std::ranges::move(std::exchange(undeclared_, {}), std::back_inserter(schema.series));
  return schema;
}

codec::SamplesBody PointFeed::samples(const std::vector<ForeignPoint>& points) const {
  struct Track {
    std::vector<std::size_t> rows;  // rows by the index of their first point
    std::vector<double> values;
  };
  // In a group, all rows have steps or none has.
  std::map<std::pair<bool, SeriesNumber>, Track> tracks;
  for (std::size_t first = 0; first < points.size();) {
    const auto row = std::span(points).subspan(first);
    const std::size_t length = row_length(row);
    for (const ForeignPoint& point : row.first(length)) {
      Track& track = tracks[{point.step.has_value(), point.series}];
      track.rows.push_back(first);
      track.values.push_back(point.value);
    }
    first += length;
  }
  // Series of the same rows, like those of one endpoint, share a group, which stores the times
  // once. No series is in two groups, which would lose the order of its points.
  std::map<std::pair<bool, std::vector<std::size_t>>, codec::SampleGroup> groups;
  for (auto& [key, track] : tracks) {
    const auto [at, fresh] = groups.try_emplace({key.first, std::move(track.rows)});
    codec::SampleGroup& group = at->second;
    if (fresh) add_rows(at->first.second, points, group);
    group.columns.push_back(
        {.series = id_of_[key.second], .present = {}, .values = std::move(track.values)});
  }
  codec::SamplesBody body;
  for (auto& [key, group] : groups) body.groups.push_back(std::move(group));
  return body;
}

void PointFeed::flush(spool::Journal& journal, bool workload) {
  PointQueue::Drained drained = queue_.drain();
  codec::SchemaBody schema = declare(drained, workload);
  if (!workload) {
    std::erase_if(drained.points, [&](const ForeignPoint& point) {
      return owner_of_[point.series] == metric::Owner::kWorkload;
    });
  }
  for (std::size_t first = 0; first < drained.points.size() || !schema.series.empty();
       first += kPointsPerFrame) {
    const auto begin = drained.points.begin() +
                       static_cast<std::ptrdiff_t>(std::min(first, drained.points.size()));
    const auto count = std::min<std::ptrdiff_t>(drained.points.end() - begin, kPointsPerFrame);
    const codec::SchemaBody fresh = std::exchange(schema, {});
    const codec::SamplesBody points = samples({begin, begin + count});
    if (watch_ != nullptr) watch_->samples(fresh, points);
    codec::Bundle bundle;
    bundle.add(fresh);
    bundle.add(points);
    journal.bundle(bundle);
  }
}

}  // namespace corral::run
