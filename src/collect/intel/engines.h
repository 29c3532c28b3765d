// Engines: how busy the engines of one of Intel's GPUs are, by the kernel's perf PMU of its driver.
//
// i915 counts nanoseconds, xe the ticks of an engine and those in which it was active, which the
// time between two reads makes seconds. Reading costs a system call for each event; it takes
// CAP_PERFMON or kernel.perf_event_paranoid 0. One thread.
#pragma once

#include <linux/perf_event.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "collect/series.h"
#include "core/time.h"
#include "sys/clock.h"
#include "sys/fd.h"

namespace corral::collect::intel {

struct EngineEvent {
  std::string engine;  // "rcs0", "gt1.vcs0"
  perf_event_attr busy = {};
  perf_event_attr total = {};  // xe's
  bool in_ticks = false;
  unsigned cpu = 0;  // on which they must be opened
};
// Returns the engines of the device at a PCI address ("0000:03:00.0"): those that its PMU lists
// (i915), or may have (xe lists none: opening a missing one fails).
std::vector<EngineEvent> engine_events(const std::filesystem::path& root,
                                       const std::string& address);

// perf_event_open; a descriptor or -1 with errno.
using OpenEvent = int (*)(const perf_event_attr& attr, unsigned cpu);
int open_engine_event(const perf_event_attr& attr, unsigned cpu);

class Engines {
 public:
  struct Options {
    std::filesystem::path root;
    std::string address;
    std::string source;  // the GPU: "intel0"
    OpenEvent open_event = open_engine_event;
    sys::Clock* clock = nullptr;
  };
  // Why there are none; empty when there are some.
  std::string open(const Options& options, SeriesTable& table);
  void sample(Row& row);

 private:
  struct Engine {
    sys::Fd busy;
    sys::Fd total;  // none: busy is in ns
    Column column = kNoColumn;
    std::uint64_t last_busy = 0;
    std::uint64_t last_total = 0;
    double seconds = 0;  // in which it was busy, of xe
  };
  void sample_ticks(Engine& engine, Nanos since, Row& row) const;

  sys::Clock* clock_ = nullptr;
  std::vector<Engine> engines_;
  BootTime last_{};
};

}  // namespace corral::collect::intel
