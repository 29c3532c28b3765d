// The part of NVML's binary interface that Corral uses, declared here: no header of the vendor's is
// needed to build, and none decides which driver can be used.
//
// Layouts and version words are the interface; the assertions hold them. NVML versions most
// structures by `sizeof | version << 24` and refuses a wrong word; GPM's use plain numbers. Names
// are Corral's.
#pragma once

#include <cstddef>
#include <cstdint>

namespace corral::collect::nvidia {

enum class Status : std::int32_t {
  kSuccess = 0,
  kUninitialized = 1,
  kInvalidArgument = 2,
  kNotSupported = 3,
  kNoPermission = 4,
  kNotFound = 6,
  kInsufficientSize = 7,
  kDriverNotLoaded = 9,
  kTimeout = 10,
  kFunctionNotFound = 13,
  kGpuIsLost = 15,
  kResetRequired = 16,
  kInUse = 19,
  kNoData = 21,
  kInsufficientResources = 23,
  kVersionMismatch = 25,
  kUnknown = 999,
};

struct DeviceObject;  // the driver's own
struct GpmSampleObject;
using Device = DeviceObject*;
using GpmSample = GpmSampleObject*;

enum class Clock : std::uint32_t { kSm = 1, kMemory = 2 };
enum class Sensor : std::uint32_t { kGpu = 0 };

constexpr std::uint32_t version_word(std::size_t size, std::uint32_t version) {
  return static_cast<std::uint32_t>(size) | version << 24U;
}

struct PciAddress {
  char legacy[16];
  std::uint32_t domain;
  std::uint32_t bus;
  std::uint32_t device;
  std::uint32_t ids[2];
  char text[32];
};
static_assert(sizeof(PciAddress) == 68 && offsetof(PciAddress, domain) == 16);

struct Utilization {
  std::uint32_t gpu;  // %
  std::uint32_t memory;
};
static_assert(sizeof(Utilization) == 8);

struct MemoryV1 {
  std::uint64_t total;
  std::uint64_t free;
  std::uint64_t used;  // reserved memory included
};
static_assert(sizeof(MemoryV1) == 24);

struct MemoryV2 {
  std::uint32_t version;
  std::uint64_t total;
  std::uint64_t reserved;
  std::uint64_t free;
  std::uint64_t used;
};
static_assert(sizeof(MemoryV2) == 40 && offsetof(MemoryV2, total) == 8);
inline constexpr std::uint32_t kMemoryV2Version = version_word(sizeof(MemoryV2), 2);

enum class ValueType : std::uint32_t {
  kDouble = 0,
  kUint32 = 1,
  kUnsignedLong = 2,
  kUint64 = 3,
  kInt64 = 4,
  kInt32 = 5,
  kUint16 = 6,
};

// Values that the driver samples by itself, in rings of its own. Utilization is not available for a
// device in MIG mode.
enum class Sampled : std::uint32_t {
  kPower = 0,              // mW
  kGpuUtilization = 1,     // %
  kMemoryUtilization = 2,  // %
  kProcessorClock = 5,     // MHz
  kMemoryClock = 6,        // MHz
};
struct Sample {
  std::uint64_t time_us;  // since 1970, by the machine's clock
  std::byte value[8];
};
static_assert(sizeof(Sample) == 16);

struct FieldValue {
  std::uint32_t field;
  std::uint32_t scope;
  std::int64_t timestamp_us;
  std::int64_t latency_us;
  ValueType type;
  Status status;
  std::byte value[8];
};
static_assert(sizeof(FieldValue) == 40 && offsetof(FieldValue, type) == 24 &&
              offsetof(FieldValue, value) == 32);

// The oldest process list has shorter entries.
struct ProcessV1 {
  std::uint32_t pid;
  std::uint64_t memory;
};
static_assert(sizeof(ProcessV1) == 16);
struct ProcessV2 {
  std::uint32_t pid;
  std::uint64_t memory;
  std::uint32_t gpu_instance;
  std::uint32_t compute_instance;
};
static_assert(sizeof(ProcessV2) == 24 && offsetof(ProcessV2, memory) == 8);
inline constexpr std::uint64_t kMemoryNotAvailable = ~std::uint64_t{0};

struct ProcessUtilization {
  std::uint32_t pid;
  std::uint64_t timestamp_us;
  std::uint32_t sm;  // %
  std::uint32_t memory;
  std::uint32_t encoder;
  std::uint32_t decoder;
};
static_assert(sizeof(ProcessUtilization) == 32);

// The same of drivers from 550 on; on Blackwell the older call has nothing.
struct ProcessShare {
  std::uint64_t timestamp_us;
  std::uint32_t pid;
  std::uint32_t sm;  // %
  std::uint32_t memory;
  std::uint32_t encoder;
  std::uint32_t decoder;
  std::uint32_t jpeg;
  std::uint32_t optical_flow;
};
static_assert(sizeof(ProcessShare) == 40 && offsetof(ProcessShare, sm) == 12);
struct ProcessShares {
  std::uint32_t version;
  std::uint32_t count;     // room, then how many
  std::uint64_t since_us;  // later ones only
  ProcessShare* list;
};
static_assert(sizeof(ProcessShares) == 24);
inline constexpr std::uint32_t kProcessSharesVersion = version_word(sizeof(ProcessShares), 1);

struct GpmSupport {
  std::uint32_t version;
  std::uint32_t supported;
};
inline constexpr std::uint32_t kGpmSupportVersion = 1;

struct GpmMetric {
  std::uint32_t id;
  Status status;
  double value;
  const char* names[3];
};
static_assert(sizeof(GpmMetric) == 40 && offsetof(GpmMetric, value) == 8);

// The driver's own structure grew from 98 to 477 metrics under one version number; `count` governs,
// and the room is more than any driver may touch.
inline constexpr std::size_t kGpmRoom = 512;
struct GpmRequest {
  std::uint32_t version;
  std::uint32_t count;
  GpmSample earlier;
  GpmSample later;
  GpmMetric metrics[kGpmRoom];
};
static_assert(offsetof(GpmRequest, metrics) == 24);
inline constexpr std::uint32_t kGpmRequestVersion = 1;

}  // namespace corral::collect::nvidia
