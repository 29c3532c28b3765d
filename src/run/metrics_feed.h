// MetricsFeed: rows of the sampler -> bundles in the journal.
//
// A series is declared when its first value comes, so that a supervisor that never holds the
// workload's lock never claims the host's series. One thread.
#pragma once

#include <vector>

#include "codec/frame.h"
#include "collect/sampler.h"
#include "spool/journal.h"

namespace corral::run {

class MetricsFeed {
 public:
  explicit MetricsFeed(collect::Sampler& sampler);
  // Writes all rows since the last call as one frame; nothing when there are none.
  void flush(spool::Journal& journal);

 private:
  struct Column {
    std::uint32_t id = 0;
    bool declared = false;
  };
  void add(const collect::Sampler::RowView& row);
  collect::Sampler& sampler_;
  std::vector<std::vector<Column>> columns_;  // by group
  std::vector<codec::SampleGroup> groups_;    // rows since the last flush, every column
};

}  // namespace corral::run
