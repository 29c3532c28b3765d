// A listener: one collector of metrics, in one folder: pure parsers, a thin reader under an
// injected root, tests, fixtures.
//
// open() may allocate and fail: on the supervisor's thread for the host's lane, on the lane's own
// for devices. sample_*() run on the lane's thread only, at every tick, and must not allocate or
// fork; on the host's lane they must not wait either. A call into a vendor library may hang for
// good: a listener of the device lane is then left behind with its thread, so it owns all it
// touches. To add one: a folder, and a line in sampler/listeners.cpp.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "collect/news.h"
#include "collect/series.h"
#include "core/time.h"

namespace corral::collect {

class PerfCounters;

class Listener {
 public:
  virtual ~Listener() = default;
  virtual void sample_fast(Row& row) = 0;
  virtual void sample_slow(Row&) {}
};

// On which of the supervisor's sampling threads a listener runs. A lane has its own ticker, rows
// and clock, so that a vendor library that blocks never makes the host's metrics late.
enum class Lane : std::uint8_t {
  kHost = 0,    // files of /proc and /sys: microseconds, opened before the command starts
  kDevice = 1,  // libraries that may block or hang: opened on the lane's thread, after the start
};

struct ListenerContext {
  std::filesystem::path root = "/";  // /proc and /sys are looked up below it
  pid_t run_pid = 0;                 // 0: no run, only the host
  pid_t supervisor_pid = 0;
  PerfCounters* perf = nullptr;  // counters of the run; a listener that uses them moves them out
  std::vector<std::string> device_uuids = {};  // only these devices; empty: all there are
  std::shared_ptr<News> news = nullptr;        // receives events after open; null: they are dropped
  std::string library_path = {};  // a vendor library in place of the system's; empty: the system's
  Nanos tick = std::chrono::milliseconds(100);  // between two samples
};

struct ListenerEntry {
  std::string_view name;
  std::string_view describe;  // one sentence
  metric::Owner owner;        // owner of all its series
  // Declares its series and the unavailable ones; a missing metric is not an error.
  std::unique_ptr<Listener> (*open)(const ListenerContext&, SeriesTable&);
  Lane lane = Lane::kHost;
};

}  // namespace corral::collect
