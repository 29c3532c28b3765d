// Device time: how busy the devices of a run's traces were, with what, and what their idle time
// waited for.
//
// Idle is time between kernels and copies in which none of the device's streams has one. Its cause
// is said by the kernel that ends it, after Holistic Trace Analysis: its launch was issued only
// after the device had become idle (host wait), or else the gap is below 30 ns (kernel wait), or
// else another one. HTA does so for each stream; here a stream that waits beside a busy one is not
// idle. Time outside of every trace is not counted. docs/analysis.md defines every number. Pure.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analyze/explain/leaves.h"
#include "codec/frame.h"

namespace corral::analyze {

// A shorter gap is a device's own pause between two kernels that were waiting.
inline constexpr Nanos kKernelPause{30};

struct DevicePhase {
  static constexpr Nanos kNoLaunch{std::numeric_limits<std::int64_t>::min()};
  UtcTime begin, end;
  Nanos queued = kNoLaunch;  // since its launch
  codec::PhaseKind kind = codec::PhaseKind::kCompute;
};

// The devices in a run's traces, filled phase by phase in any order.
class DeviceRecord {
 public:
  struct Fields {
    UtcTime begin;
    std::optional<UtcTime> end;
    std::string_view name, lane;
    std::string_view attributes;  // JSON
    codec::PhaseKind kind = codec::PhaseKind::kCompute;
  };
  // Keeps it if it is a trace's; phases without an end are left out.
  void add(const Fields& fields);

  struct Device {
    std::vector<DevicePhase> phases;
    std::set<std::string, std::less<>> streams;  // their lanes
  };
  [[nodiscard]] const std::map<std::string, Device, std::less<>>& devices() const {
    return devices_;
  }
  // By the lanes' front: "node7/rank0/".
  [[nodiscard]] const std::map<std::string, std::vector<Window>, std::less<>>& traces() const {
    return traces_;
  }

 private:
  std::map<std::string, Device, std::less<>> devices_;
  std::map<std::string, std::vector<Window>, std::less<>> traces_;
};

struct DeviceTime {
  std::string device;  // "node7/rank0/GPU 1"
  std::optional<std::int64_t> rank;
  Window window;  // from its first kernel or copy to its last
  std::int64_t phases = 0, streams = 0;
  Nanos busy{0};
  Nanos compute{0}, communication{0}, memory{0};  // each with at least one of its kind
  Nanos overlap{0};                               // with both of the first two
  Nanos host_wait{0}, kernel_wait{0}, other{0};   // idle, by cause
  Nanos unknown{0};                               // idle: the trace lacks the launch
  std::string text;                               // one sentence
  [[nodiscard]] Nanos idle() const { return host_wait + kernel_wait + other + unknown; }
};

// The idle time of a traced device in stretches of the run's time.
struct DeviceIdle {
  std::string device;
  double seconds = 0, idle_s = 0;  // in all stretches that lie wholly in one trace
  std::uint64_t stretches = 0;
};
// By name. The stretches ascend and do not overlap; devices with none of them are left out.
std::vector<DeviceIdle> find_device_idle(const DeviceRecord& record,
                                         std::span<const Window> stretches);

// By name; devices without a phase in the window are left out.
std::vector<DeviceTime> find_device_time(const DeviceRecord& record, Window window);

}  // namespace corral::analyze
