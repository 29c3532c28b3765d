// PointFeed: points of foreign sources -> bundles in the journal, beside the MetricsFeed and with
// ids of the same session. One thread.
#pragma once

#include <cstdint>
#include <vector>

#include "codec/frame.h"
#include "collect/foreign/points.h"
#include "run/record/metrics_feed.h"
#include "spool/journal.h"

namespace corral::run {

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
