// MetricsFeed: rows of the samplers -> bundles in the journal.
//
// A series is declared when its first value comes, so that a supervisor that never holds the
// workload's lock never claims the host's series, and a device's lane may be opened late. One
// thread.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "codec/frame.h"
#include "collect/sampler.h"
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
  // Writes all rows since the last call as one frame; nothing when there are none.
  void flush(spool::Journal& journal);

 private:
  struct Column {
    std::uint32_t id = 0;
    bool declared = false;
  };
  // One sampler's; its columns are known when its listeners are open.
  struct Part {
    collect::Sampler* sampler;
    std::vector<std::vector<Column>> columns;  // by group
    std::vector<codec::SampleGroup> groups;    // rows since the last flush, every column
  };
  void number(Part& part);
  static void add(Part& part, const collect::Sampler::RowView& row);
  static void take(Part& part, std::size_t group, codec::SchemaBody& schema,
                   codec::SamplesBody& samples);

  SeriesIds& ids_;
  std::vector<Part> parts_;
};

}  // namespace corral::run
