// Options of a sampler.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "collect/listener.h"
#include "collect/sampler/ticker.h"
#include "collect/tree/perf_counters.h"
#include "core/time.h"

namespace corral::collect {

struct SamplerOptions {
  std::vector<std::string> listeners =
      {};  // names of listeners(); none is allowed: only what Corral costs is sampled
  std::vector<const ListenerEntry*> entries = {};  // beside them, also ones that no table lists
  Nanos interval = std::chrono::milliseconds(100);
  Nanos slow_interval = std::chrono::seconds(1);  // rounded down to whole intervals, at least one
  std::filesystem::path root = "/";
  pid_t run_pid = 0;         // 0: no run
  pid_t supervisor_pid = 0;  // 0: this process
  PerfCounters perf = {};
  std::vector<std::string> device_uuids = {};  // as in ListenerContext
  std::string library_path = {};
  std::size_t ring_rows = 512;  // fewer when rows are so wide that the ring would pass 4 MiB
  std::string lane = {};        // source of the series about its cost; empty: the host's
  bool open_late = false;       // opens its listeners on its own thread, after start()
  std::unique_ptr<Ticker> ticker = nullptr;  // for tests; none: a timer
};

}  // namespace corral::collect
