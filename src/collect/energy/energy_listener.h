// Listener "energy": joules that the processors, their memory and the machine used, from RAPL.
//
// RAPL, the processor's own energy counters, comes by two ways: powercap's files and the kernel's
// perf PMU "power". Both count the same thing. perf is preferred: the kernel adds up to 64 bits
// there, while a file of powercap wraps every few minutes under load. Zones that repeat another one
// are left out: intel-rapl-mmio shows the package of intel-rapl again. Opened on the supervisor's
// thread, then read by the sampler's.
#pragma once

#include <linux/perf_event.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "collect/listener.h"

namespace corral::collect {

std::unique_ptr<Listener> open_energy_listener(const ListenerContext& context, SeriesTable& table);

namespace energy {

// Sum of a counter that wraps after `range`, its first value included. It must be
// read more often than it wraps. A value above the range is a counter that lies: it is not counted.
class WrappingCounter {
 public:
  explicit WrappingCounter(double range) : range_(range) {}
  [[nodiscard]] double add(double raw);

 private:
  double range_;
  double last_ = -1;
  double total_ = 0;
};

struct PowerEvent {
  std::string_view metric;
  std::string source;
  unsigned cpu = 0;  // on which it must be opened
  perf_event_attr attr = {};
  double joules = 1;  // value of one count
};
// Events of the PMU "power", one for each package and domain; none where there is no such PMU.
std::vector<PowerEvent> power_events(const std::filesystem::path& root);

// perf_event_open; a descriptor or -1 with errno.
using OpenEvent = int (*)(const PowerEvent&);

// With another way to open events, for tests.
std::unique_ptr<Listener> open_listener(const ListenerContext& context, SeriesTable& table,
                                        OpenEvent open_event);

}  // namespace energy
}  // namespace corral::collect
