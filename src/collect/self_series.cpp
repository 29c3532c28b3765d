#include "collect/self_series.h"

#include <unistd.h>

#include <string>

#include "collect/tree/parse.h"
#include "sys/clock.h"

namespace corral::collect {

SelfSeries::SelfSeries(std::span<const Name> listeners, SeriesTable& table)
    : page_bytes_(static_cast<double>(::sysconf(_SC_PAGESIZE))),
      collector_cpu_(table.add("corral.collector.cpu")),
      missed_(table.add("corral.collector.missed_ticks")),
      dropped_(table.add("corral.collector.dropped_rows")),
      bytes_(table.add("corral.collector.bytes")),
      supervisor_cpu_(table.add("corral.supervisor.cpu")) {
  for (const auto& [name, slow] : listeners) {
    const std::string source(name);
    latency_[kFastGroup].push_back(table.add("corral.collector.latency", source));
    latency_[kSlowGroup].push_back(
        slow ? table.add_to(kSlowGroup, "corral.collector.latency", source + ".slow") : kNoColumn);
  }
  // Of this very process, whatever root the listeners look at.
  if (auto statm = ProcFile::open("/proc/self/statm")) {
    statm_ = *std::move(statm);
    supervisor_rss_ = table.add("corral.supervisor.rss");
  } else {
    table.unavailable("corral.supervisor.rss", statm.error().message);
  }
}

void SelfSeries::sample_latency(Group group, std::size_t listener, Nanos took, Row& row) const {
  row.set(latency_[group][listener], seconds(took));
}

void SelfSeries::sample_slow(const SamplerCounts& counts, Row& row) {
  row.set(collector_cpu_, seconds(sys::thread_cpu_time()));
  row.set(supervisor_cpu_, seconds(sys::process_cpu_time()));
  row.set(missed_, counts.missed_ticks);
  row.set(dropped_, counts.dropped_rows);
  row.set(bytes_, counts.bytes_written);
  std::uint64_t pages = 0;
  if (statm_ && tree::parse_statm(statm_->read(), pages)) {
    row.set(supervisor_rss_, static_cast<double>(pages) * page_bytes_);
  }
}

}  // namespace corral::collect
