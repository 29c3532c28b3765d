// A listener: one collector of metrics, in one folder: pure parsers, a thin reader under an
// injected root, tests, fixtures.
//
// open() runs on the supervisor's thread and may allocate and fail; sample_*() run on the sampler
// thread only, at every tick, and must not allocate, fork or wait. To add one: a folder, and a line
// in listeners.cpp.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <memory>
#include <span>
#include <string_view>

#include "collect/series.h"
#include "collect/tree/perf_counters.h"
#include "core/result.h"

namespace corral::collect {

class Listener {
 public:
  virtual ~Listener() = default;
  virtual void sample_fast(Row& row) = 0;
  virtual void sample_slow(Row&) {}
};

struct ListenerContext {
  std::filesystem::path root = "/";  // /proc and /sys are looked up below it
  pid_t run_pid = 0;                 // 0: no run, only the host
  pid_t supervisor_pid = 0;
  PerfCounters* perf = nullptr;  // of the run; a listener that uses them moves them out
};

struct ListenerEntry {
  std::string_view name;
  std::string_view describe;  // one sentence
  metric::Owner owner;        // of all its series
  // Declares its series and what is not available; what is missing is no error.
  std::unique_ptr<Listener> (*open)(const ListenerContext&, SeriesTable&);
};

// Every listener that this build has, in the order in which they are sampled.
std::span<const ListenerEntry> listeners();
const ListenerEntry* find_listener(std::string_view name);
// kInvalidArgument names the nearest right spelling and all there are.
Result<const ListenerEntry*> require_listener(std::string_view name);

}  // namespace corral::collect
