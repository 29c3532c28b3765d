// QuietProbe: looks for disturbances before a measurement begins: other work on the CPUs, hot
// devices, other processes on them. Reading changes nothing.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "core/time.h"

namespace corral::run::schedule {

enum class QuietCheck { kOff, kWait, kWarn, kRefuse };

struct QuietReading {
  double busy_cpus = 0;  // CPUs that run processes of normal priority
  int cpus = 1;
  struct Device {
    std::string name;    // "GPU 0"
    double celsius = 0;  // 0: not known
    int processes = 0;
  };
  std::vector<Device> devices;
};

inline constexpr double kQuietCelsius = 65;

// Returns a text for each disturbance; empty: quiet.
std::vector<std::string> disturbances(const QuietReading& reading);

// Returns the busy time of /proc/stat's first line, in ticks: user, system, interrupts; not idle,
// not nice.
std::int64_t busy_ticks(std::string_view stat);

class QuietProbe {
 public:
  // `root` stands in for "/", `nvml` for the system's library, in tests.
  QuietProbe(std::filesystem::path root, std::string nvml);
  ~QuietProbe();
  // Starts a look: the work of the CPUs from here on counts.
  void begin(BootTime now);
  // The duration of a look.
  static constexpr Nanos kLook{std::chrono::milliseconds(300)};
  QuietReading end(BootTime now);

 private:
  struct Devices;
  std::filesystem::path root_;
  std::string nvml_;
  std::unique_ptr<Devices> devices_;
  std::int64_t ticks_ = 0;
  BootTime began_;
};

}  // namespace corral::run::schedule
