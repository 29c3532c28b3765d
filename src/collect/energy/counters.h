// RAPL, the processor's own energy counters, by its two ways: powercap's files and the kernel's
// perf PMU "power".
//
// Both count the same thing. perf is preferred: the kernel adds up to 64 bits there, while a file
// of powercap wraps every few minutes under load. Zones that repeat another one are left out:
// intel-rapl-mmio shows the package of intel-rapl again. Opened on the supervisor's thread, then
// read by the sampler's.
#pragma once

#include <linux/perf_event.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "collect/sysfs/number_file.h"
#include "sys/fd.h"

namespace corral::collect::energy {

// Returns the metric of a powercap zone; empty if Corral does not record it.
std::string_view zone_metric(std::string_view zone_name);

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

struct Zone {
  std::string_view metric;
  std::string source;  // "package-0"
  std::filesystem::path directory;
  bool operator==(const Zone&) const = default;
};
// Zones of /sys/class/powercap below `root` that stand for something of their own.
std::vector<Zone> powercap_zones(const std::filesystem::path& root);
// Returns true if a zone of a package's cores shows a single one of them: AMD's processors have a
// counter in each core, and powercap reads only the first one's.
bool shows_one_core(const std::filesystem::path& root);

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
int open_power_event(const PowerEvent& event);

}  // namespace corral::collect::energy
