// MetricsFeed: rows of the samplers, and points with times of their own -> bundles in the journal.
//
// A series is declared when its first value comes, so that a supervisor that never holds the
// workload's lock never claims the host's series, and a device's lane may be opened late. Values
// that are impossible according to the catalogue are stored like all others, and counted. One
// thread.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "codec/frame.h"
#include "collect/sampler/sampler.h"
#include "metric/range.h"
#include "run/progress_watch.h"
#include "run/record/strays.h"
#include "spool/journal.h"

namespace corral::run {

// The free series ids of the session; every declaration of a series takes its id from here.
struct SeriesIds {
  std::uint32_t next = 1;
};

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
  static void take(Part& part, std::size_t group, codec::SchemaBody& schema,
                   codec::SamplesBody& samples);
  static void take_timed(Part& part, codec::SchemaBody& schema, codec::SamplesBody& samples);

  SeriesIds& ids_;
  std::vector<Part> parts_;
  Strays strays_;
  ProgressWatch* watch_ = nullptr;
};

}  // namespace corral::run
