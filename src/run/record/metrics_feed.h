// MetricsFeed: rows of the samplers, and points with times of their own -> bundles in the journal.
//
// A series is declared when its first value comes, so that a supervisor that never holds the
// workload's lock never claims the host's series, and a device's lane may be opened late. Values
// that the catalogue says cannot be are stored like all others, and counted. One thread.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "codec/frame.h"
#include "collect/sampler.h"
#include "metric/range.h"
#include "run/progress_watch.h"
#include "run/record/strays.h"
#include "spool/journal.h"

namespace corral::run {

// The session's series ids that are free; everybody who declares series takes his from here.
struct SeriesIds {
  std::uint32_t next = 1;
};

class MetricsFeed {
 public:
  // `samplers` and `ids` outlive it.
  MetricsFeed(std::span<const std::unique_ptr<collect::Sampler>> samplers, SeriesIds& ids);
  // Writes all since the last call as one frame; nothing when there is none.
  void flush(spool::Journal& journal);

  // Is shown what is written; outlives this.
  void show(ProgressWatch& watch) { watch_ = &watch; }

  [[nodiscard]] Strays& strays() { return strays_; }

 private:
  struct Column {
    std::uint32_t id = 0;
    bool declared = false;
    metric::Range range;
  };
  // One sampler's; its columns are known when its listeners are open.
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
