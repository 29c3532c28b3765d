// The overhead of measuring, as series of the run: corral.collector.* of one lane, and
// corral.supervisor.* and the written bytes on the host's. Its sampling thread only.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
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
  Nanos lateness{0};
};

class SelfSeries {
 public:
  // The name of a listener and a flag for slow reads.
  struct Name {
    std::string_view name;
    bool slow;
  };
  // `lane` is the source of the lane's series; the host's is empty.
  SelfSeries(const std::string& lane, std::span<const Name> listeners, SeriesTable& table);

  // Records the duration of one listener's reads, by its place in the list of listeners.
  void sample_latency(Group group, std::size_t listener, Nanos took, Row& row) const;
  void sample_slow(const SamplerCounts& counts, Row& row);

 private:
  void add_supervisor(SeriesTable& table);

  std::optional<ProcFile> statm_;
  double page_bytes_;
  std::vector<Column> latency_[kGroupCount];
  Column collector_cpu_, wakeups_, lateness_, missed_, dropped_;
  Column bytes_ = kNoColumn;  // these on the host's lane only
  Column supervisor_cpu_ = kNoColumn;
  Column supervisor_wakeups_ = kNoColumn;
  Column supervisor_rss_ = kNoColumn;
};

}  // namespace corral::collect
