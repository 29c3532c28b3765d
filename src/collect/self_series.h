// What measuring itself costs, as series of the run: corral.collector.* and corral.supervisor.*.
// Sampler thread only.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "collect/proc_file.h"
#include "collect/series.h"
#include "core/time.h"

namespace corral::collect {

struct SamplerCounts {
  std::uint64_t missed_ticks = 0;
  std::uint64_t dropped_rows = 0;
  std::uint64_t bytes_written = 0;
};

class SelfSeries {
 public:
  // What a listener is called and whether it has anything slow to read.
  struct Name {
    std::string_view name;
    bool slow;
  };
  SelfSeries(std::span<const Name> listeners, SeriesTable& table);

  // How long one listener's reads took, by its place in the list of listeners.
  void sample_latency(Group group, std::size_t listener, Nanos took, Row& row) const;
  void sample_slow(const SamplerCounts& counts, Row& row);

 private:
  std::optional<ProcFile> statm_;
  double page_bytes_;
  std::vector<Column> latency_[kGroupCount];
  Column collector_cpu_, missed_, dropped_, bytes_, supervisor_cpu_;
  Column supervisor_rss_ = kNoColumn;
};

}  // namespace corral::collect
