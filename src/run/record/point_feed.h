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
  // Is shown what is written; outlives this.
  void show(ProgressWatch& watch) { watch_ = &watch; }
  // Writes all points since the last call; nothing when there are none. Those of the workload's
  // series are left out unless this run is the one of its workload and host that records them.
  void flush(spool::Journal& journal, bool workload = true);

 private:
  codec::SchemaBody declare(const collect::foreign::PointQueue::Drained& drained, bool workload);
  [[nodiscard]] codec::SamplesBody samples(
      const std::vector<collect::foreign::ForeignPoint>& points) const;

  collect::foreign::PointQueue& queue_;
  SeriesIds& ids_;
  ProgressWatch* watch_ = nullptr;
  std::vector<std::uint32_t> id_of_;          // by the queue's number
  std::vector<metric::Owner> owner_of_;       // likewise
  std::vector<codec::SeriesDef> undeclared_;  // the workload's, until they are recorded here
};

}  // namespace corral::run
