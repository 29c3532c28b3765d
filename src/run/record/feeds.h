// Feeds: the values that a supervisor records itself -> bundles in the journal. One thread.
//
// A series is declared when its first value comes, so that a supervisor that never holds the
// workload's lock never claims the host's series, and a device's lane may be opened late.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "codec/frame.h"
#include "collect/foreign/points.h"
#include "collect/sampler/sampler.h"
#include "collect/series.h"
#include "metric/range.h"
#include "run/progress.h"
#include "spool/journal.h"

namespace corral::run {

// Strays: counts values outside of the catalogue's range, by series: a broken sensor, or a driver's
// code for "unknown". Such values are stored as they were read. The run reports each series once
// when it begins to stray, and the counts at its end.
class Strays {
 public:
  static constexpr std::size_t kMost = 256;  // most series that are counted

  // A series that strayed for the first time.
  struct First {
    std::string text;  // a line for the user
    bool new_metric;   // the first of its metric, in all sources
  };

  // `series` outlives this.
  void add(const collect::SeriesInfo& series, double value);
  std::vector<First> drain_new();
  // Returns facts "outside.METRIC of SOURCE": the count, the least and the greatest value.
  [[nodiscard]] std::vector<codec::Fact> facts() const;

 private:
  struct Stray {
    const collect::SeriesInfo* series;
    double first, least, greatest;
    std::uint64_t count;
  };

  std::vector<Stray> strays_;  // a series has one; few have any
  std::size_t reported_ = 0;
  bool more_ = false;  // series than kMost
};

// The free series ids of the session; every declaration of a series takes its id from here.
struct SeriesIds {
  std::uint32_t next = 1;
  // Source of the run's series that this supervisor declares ("rank3"), or the first part of it
  // ("rank3/GPU 0"). Empty: no other supervisor records the run.
  std::string label = {};
  // Likewise of the workload's series: every host of the run has a supervisor that records them.
  std::string host = {};
};

// MetricsFeed: rows of the samplers, and points with times of their own. Values that are impossible
// according to the catalogue are stored like all others, and counted.
class MetricsFeed {
 public:
  // `samplers` and `ids` outlive it.
  MetricsFeed(std::span<const std::unique_ptr<collect::Sampler>> samplers, SeriesIds& ids);
  // Writes all rows since the last call as one frame; without rows it writes nothing.
  void flush(spool::Journal& journal);

  // Sets the watch that is shown all written values; it outlives this.
  void show(ProgressWatch& watch) { watch_ = &watch; }

  [[nodiscard]] Strays& strays() { return strays_; }

 private:
  struct Column {
    std::uint32_t id = 0;
    bool declared = false;
    metric::Range range;
  };
  // State of one sampler; its columns are known when its listeners are open.
  struct Part {
    collect::Sampler* sampler;
    std::vector<std::vector<Column>> columns;  // by group
    std::vector<codec::SampleGroup> groups;    // rows since the last flush, every column
    std::vector<codec::SampleGroup> timed;     // points since then, a group for each series
  };
  void number(Part& part);
  std::vector<Column>& number_group(Part& part, int group);
  void add(Part& part, const collect::Sampler::RowView& row);
  void add(Part& part, const collect::TimedPoint& point);
  static void declare(Part& part, int group, std::size_t column, codec::SchemaBody& schema);
  static void move_rows(Part& part, std::size_t group, codec::SchemaBody& schema,
                        codec::SamplesBody& samples);
  static void move_timed_points(Part& part, codec::SchemaBody& schema, codec::SamplesBody& samples);

  SeriesIds& ids_;
  std::vector<Part> parts_;
  Strays strays_;
  ProgressWatch* watch_ = nullptr;
};

// PointFeed: points of foreign sources, with ids of the same session.
class PointFeed {
 public:
  // Both outlive it.
  PointFeed(collect::foreign::PointQueue& queue, SeriesIds& ids) : queue_(queue), ids_(ids) {}
  // Sets the watch that is shown all written values; it outlives this.
  void show(ProgressWatch& watch) { watch_ = &watch; }
  // Writes all points since the last call, if there are any. `workload`: this run records the
  // series of the workload on this host; otherwise their points are skipped.
  void flush(spool::Journal& journal, bool workload = true);

 private:
  codec::SchemaBody declare(const collect::foreign::PointQueue::Drained& drained, bool workload);
  [[nodiscard]] codec::SamplesBody samples(
      const std::vector<collect::foreign::ForeignPoint>& points) const;

  collect::foreign::PointQueue& queue_;
  SeriesIds& ids_;
  ProgressWatch* watch_ = nullptr;
  std::vector<std::uint32_t> id_of_;     // by the queue's series number
  std::vector<metric::Owner> owner_of_;  // likewise
  // Series of the workload, until they are recorded here.
  std::vector<codec::SeriesDef> undeclared_;
};

}  // namespace corral::run
