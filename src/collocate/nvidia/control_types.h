// Control types: the part of NVML's binary interface that changes a device, besides the reading
// part of collect/. They are declared here, so that no header of the vendor is needed. The
// assertions check the layouts.
#pragma once

#include <cstddef>
#include <cstdint>

#include "collect/nvidia/nvml_types.h"

namespace corral::collocate::nvidia {

using collect::nvidia::Device;
using collect::nvidia::MemoryV1;
using collect::nvidia::PciAddress;
using collect::nvidia::ProcessV1;
using collect::nvidia::ProcessV2;
using collect::nvidia::Status;
using collect::nvidia::version_word;

struct GpuInstanceObject;  // the driver's own
struct ComputeInstanceObject;
using GpuInstance = GpuInstanceObject*;
using ComputeInstance = ComputeInstanceObject*;

enum class ComputeMode : std::uint32_t {
  kDefault = 0,
  kExclusiveThread = 1,
  kProhibited = 2,
  kExclusiveProcess = 3,
};

// The position of a GPU instance, in memory slices, or of a compute instance, in compute slices of
// its GPU instance.
struct Placement {
  std::uint32_t start;
  std::uint32_t size;
  bool operator==(const Placement&) const = default;
};
static_assert(sizeof(Placement) == 8);

inline constexpr std::size_t kProfileNameSize = 96;

// The oldest form has no name.
struct ProfileInfoV1 {
  std::uint32_t id;
  std::uint32_t peer_to_peer;
  std::uint32_t slices;  // compute slices
  std::uint32_t most;    // most instances on a device
  std::uint32_t multiprocessors;
  std::uint32_t engines[5];
  std::uint64_t memory_mib;
};
static_assert(sizeof(ProfileInfoV1) == 48 && offsetof(ProfileInfoV1, memory_mib) == 40);

struct ProfileInfoV2 {
  std::uint32_t version;
  std::uint32_t id;
  std::uint32_t peer_to_peer;
  std::uint32_t slices;
  std::uint32_t most;
  std::uint32_t multiprocessors;
  std::uint32_t engines[5];
  std::uint64_t memory_mib;
  char name[kProfileNameSize];
};
static_assert(sizeof(ProfileInfoV2) == 152 && offsetof(ProfileInfoV2, memory_mib) == 48);
inline constexpr std::uint32_t kProfileInfoV2Version = version_word(sizeof(ProfileInfoV2), 2);

struct GpuInstanceInfo {
  Device device;
  std::uint32_t id;
  std::uint32_t profile;
  Placement placement;
};
static_assert(sizeof(GpuInstanceInfo) == 24);

struct ComputeProfileInfo {
  std::uint32_t id;
  std::uint32_t slices;
  std::uint32_t most;
  std::uint32_t multiprocessors;
  std::uint32_t engines[5];
};
static_assert(sizeof(ComputeProfileInfo) == 36);

struct ComputeInstanceInfo {
  Device device;
  GpuInstance gpu_instance;
  std::uint32_t id;
  std::uint32_t profile;
  Placement placement;
};
static_assert(sizeof(ComputeInstanceInfo) == 32);

// Drivers number profiles upwards from 0, with gaps: after an unknown number a known one may
// follow. Present drivers know 18 profiles of GPU instances and 9 of compute instances.
inline constexpr std::uint32_t kMostProfiles = 64;
inline constexpr std::uint32_t kSharedEngines = 0;

}  // namespace corral::collocate::nvidia
