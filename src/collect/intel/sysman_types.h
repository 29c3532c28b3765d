// The part of Level Zero's system interface (Sysman) that is used here, declared by hand; the same
// in all versions 1.x of the loader. A struct that is filled names its type in `type`.
#pragma once

#include <cstddef>
#include <cstdint>

namespace corral::collect::intel {

enum class ZeStatus : std::uint32_t {
  kSuccess = 0,
  kDeviceLost = 0x70000001,
  kNoPermission = 0x70010000,
  kNotAvailable = 0x70010001,
  kDependency = 0x70020000,
  kUninitialised = 0x78000001,
  kUnsupportedVersion = 0x78000002,
  kUnsupported = 0x78000003,
};

using ZeDriver = void*;
using ZeDevice = void*;
using ZePart = void*;  // an engine group, a power domain, ...
using ZeBool = std::uint8_t;

enum class ZeType : std::uint32_t {
  kPci = 0x2,
  kEngine = 0x5,
  kFrequency = 0x9,
  kMemory = 0xb,
  kPower = 0xd,
  kTemperature = 0x14,
  kFrequencyState = 0x1b,
  kMemoryState = 0x1e,
};
struct ZeHead {
  ZeType type;
  void* next;
};

struct ZePci {
  ZeHead head;
  std::uint32_t domain, bus, device, function;
  std::int32_t generation, width;
  std::int64_t bandwidth;
  ZeBool has_bandwidth, has_packets, has_replays;
};
struct ZeEngine {
  ZeHead head;
  std::uint32_t kind;
  ZeBool on_subdevice;
  std::uint32_t subdevice;
};
struct ZeEngineActivity {
  std::uint64_t active_us, time_us;
};
struct ZePower {
  ZeHead head;
  ZeBool on_subdevice;
  std::uint32_t subdevice;
  ZeBool can_control, has_threshold;
  std::int32_t default_limit, least_limit, most_limit;
};
struct ZeEnergy {
  std::uint64_t microjoules, time_us;
};
struct ZeFrequency {
  ZeHead head;
  std::uint32_t kind;
  ZeBool on_subdevice;
  std::uint32_t subdevice;
  ZeBool can_control, has_throttle_event;
  double least, most;
};
struct ZeFrequencyState {
  ZeHead head;
  double voltage, request, tdp, efficient, actual;  // MHz; below 0: not known
  std::uint32_t throttle_reasons;
};
struct ZeTemperature {
  ZeHead head;
  std::uint32_t kind;
  ZeBool on_subdevice;
  std::uint32_t subdevice;
  double most;
  ZeBool has_critical, has_threshold1, has_threshold2;
};
struct ZeMemory {
  ZeHead head;
  std::uint32_t kind;
  ZeBool on_subdevice;
  std::uint32_t subdevice;
  std::uint32_t location;
  std::uint64_t size;
  std::int32_t bus_width, channels;
};
struct ZeMemoryState {
  ZeHead head;
  std::uint32_t health;
  std::uint64_t free, size;
};
static_assert(sizeof(ZePci) == 56 && sizeof(ZeEngine) == 32 && sizeof(ZePower) == 40 &&
              sizeof(ZeFrequency) == 48 && sizeof(ZeFrequencyState) == 64 &&
              sizeof(ZeTemperature) == 48 && sizeof(ZeMemory) == 48 && sizeof(ZeMemoryState) == 40);

}  // namespace corral::collect::intel
