#include "collect/sampler/self_series.h"

#include <sys/resource.h>
#include <unistd.h>

#include <string>

#include "collect/tree/parse.h"
#include "sys/clock.h"

namespace corral::collect {
namespace {

// Returns the number of times the thread or process went to sleep, and so was woken.
std::uint64_t voluntary_switches(int who) {
  rusage usage{};
  return ::getrusage(who, &usage) == 0 ? static_cast<std::uint64_t>(usage.ru_nvcsw) : 0;
}

}  // namespace

SelfSeries::SelfSeries(const std::string& lane, std::span<const Name> listeners, SeriesTable& table)
    : page_bytes_(static_cast<double>(::sysconf(_SC_PAGESIZE))),
      collector_cpu_(table.add("corral.collector.cpu", lane)),
      wakeups_(table.add("corral.collector.wakeups", lane)),
      lateness_(table.add("corral.collector.lateness", lane)),
      missed_(table.add("corral.collector.missed_ticks", lane)),
      dropped_(table.add("corral.collector.dropped_rows", lane)) {
  for (const auto& [name, slow] : listeners) {
    const std::string source(name);
    latency_[kFastGroup].push_back(table.add("corral.collector.latency", source));
    latency_[kSlowGroup].push_back(
        slow ? table.add_to(kSlowGroup, "corral.collector.latency", source + ".slow") : kNoColumn);
  }
  if (lane.empty()) add_supervisor(table);
}

void SelfSeries::add_supervisor(SeriesTable& table) {
  bytes_ = table.add("corral.collector.bytes");
  supervisor_cpu_ = table.add("corral.supervisor.cpu");
  supervisor_wakeups_ = table.add("corral.supervisor.wakeups");
  // Read from this very process, even if the listeners use another root.
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
  row.set(wakeups_, voluntary_switches(RUSAGE_THREAD));
  row.set(lateness_, seconds(counts.lateness));
  row.set(missed_, counts.missed_ticks);
  row.set(dropped_, counts.dropped_rows);
  if (bytes_ == kNoColumn) return;
  row.set(bytes_, counts.bytes_written);
  row.set(supervisor_cpu_, seconds(sys::process_cpu_time()));
  row.set(supervisor_wakeups_, voluntary_switches(RUSAGE_SELF));
  std::uint64_t pages = 0;
  if (statm_ && tree::parse_statm(statm_->read(), pages)) {
    row.set(supervisor_rss_, static_cast<double>(pages) * page_bytes_);
  }
}

}  // namespace corral::collect
