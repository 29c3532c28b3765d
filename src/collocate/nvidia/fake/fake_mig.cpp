// The fake's MIG: mode, profiles, GPU instances and compute instances.
#include <iterator>

#include "collocate/nvidia/fake/call.h"

namespace corral::collocate::nvidia::fake {
namespace {

template <class Info>
Status give_profile(const ModelProfile& profile, Info& info) {
  info.id = profile.id;
  info.slices = profile.slices;
  info.most = profile.most;
  info.multiprocessors = profile.slices * 14;
  info.memory_mib = profile.memory_mib;
  return Status::kSuccess;
}

// Checks that precede any answer about profiles.
Status profile_status(const Call& call, Device device, unsigned number) {
  if (call.failed()) return call.status;
  // Unknown numbers lie between the known ones, as with a driver.
  if (number >= 17 || number == 5 || number == 6) return Status::kInvalidArgument;
  if (call.profile(number) == nullptr) return Status::kNotSupported;
  const bool needs_mode = call.state.number("profiles_need_mode") != 0;
  if (needs_mode && !call.mig(device->gpu)) return Status::kNotSupported;
  return Status::kSuccess;
}

// Checks that the compute slices suffice, and that no instance overlaps the placement.
Status room_for(const Call& call, unsigned gpu, const ModelProfile& profile, const Placement& at) {
  bool possible = false;
  for (const Placement& p : profile.placements) possible = possible || p == at;
  if (!possible) return Status::kInvalidArgument;
  unsigned slices = profile.slices;
  unsigned same = 1;
  for (const Call::Occupant& one : call.occupants(gpu)) {
    if (one.at.start < at.start + at.size && at.start < one.at.start + one.at.size)
      return Status::kInsufficientResources;
    const ModelProfile* its = call.profile_with(one.profile);
    slices += its != nullptr ? its->slices : 0;
    same += one.profile == profile.id ? 1 : 0;
  }
  return slices <= 7 && same <= profile.most ? Status::kSuccess : Status::kInsufficientResources;
}

}  // namespace
}  // namespace corral::collocate::nvidia::fake

using namespace corral::collocate::nvidia;        // NOLINT: all of this file is the fake
using namespace corral::collocate::nvidia::fake;  // NOLINT

extern "C" {

Status nvmlDeviceGetMigMode(Device device, unsigned* now, unsigned* pending) {
  const Call call(__func__, device);
  if (call.failed()) return call.status;
  if (call.model->profiles.empty()) return Status::kNotSupported;
  *now = call.mig(device->gpu) ? 1 : 0;
  *pending = static_cast<unsigned>(call.state.number(key(device->gpu, "mig.pending"), *now));
  return Status::kSuccess;
}
Status nvmlDeviceSetMigMode(Device device, unsigned mode, Status* activation) {
  Call call(__func__, device);
  if (call.failed()) return call.status;
  if (call.model->profiles.empty()) return Status::kNotSupported;
  if (mode > 1 || activation == nullptr) return Status::kInvalidArgument;
  const unsigned gpu = device->gpu;
  *activation = Status::kSuccess;
  if (mode != (call.mig(gpu) ? 1U : 0U)) {
    if (!call.processes(gpu, -1, -1).empty() || !call.occupants(gpu).empty())
      *activation = Status::kInUse;
    else if (call.state.number(key(gpu, "needs_reset")) != 0)
      *activation = Status::kResetRequired;
  }
  if (*activation != Status::kSuccess) {
    call.state.set(key(gpu, "mig.pending"), std::to_string(mode));
    return Status::kSuccess;
  }
  call.state.set(key(gpu, "mig.pending"), "");
  call.state.set(key(gpu, "mig"), mode == 1 ? "1" : "");
  return Status::kSuccess;
}
Status nvmlDeviceGetMaxMigDeviceCount(Device device, unsigned* count) {
  const Call call(__func__, device);
  if (!call.failed()) *count = call.mig(device->gpu) ? kMostInstances : 0;
  return call.status;
}
Status nvmlDeviceGetMigDeviceHandleByIndex(Device device, unsigned index, Device* out) {
  const Call call(__func__, device);
  if (call.failed()) return call.status;
  if (index >= kMostInstances) return Status::kInvalidArgument;
  const auto all = call.computes(device->gpu);
  if (index >= all.size()) return Status::kNotFound;
  *out = device_handle(device->gpu, all[index].gi, all[index].ci);
  return Status::kSuccess;
}
Status nvmlDeviceGetGpuInstanceId(Device device, unsigned* id) {
  const Call call(__func__, device);
  if (call.failed()) return call.status;
  if (device->gi < 0) return Status::kInvalidArgument;
  *id = static_cast<unsigned>(device->gi);
  return Status::kSuccess;
}
Status nvmlDeviceGetComputeInstanceId(Device device, unsigned* id) {
  const Call call(__func__, device);
  if (call.failed()) return call.status;
  if (device->ci < 0) return Status::kInvalidArgument;
  *id = static_cast<unsigned>(device->ci);
  return Status::kSuccess;
}

Status nvmlDeviceGetGpuInstanceProfileInfo(Device device, unsigned number, ProfileInfoV1* info) {
  const Call call(__func__, device);
  const Status status = profile_status(call, device, number);
  return status == Status::kSuccess ? give_profile(*call.profile(number), *info) : status;
}
Status nvmlDeviceGetGpuInstanceProfileInfoV(Device device, unsigned number, void* info) {
  const Call call(__func__, device);
  const Status status = profile_status(call, device, number);
  if (status != Status::kSuccess) return status;
  const ModelProfile& profile = *call.profile(number);
  const std::string name = "MIG " + profile.name;
  const auto version = *static_cast<std::uint32_t*>(info);
  if (version != kProfileInfoV2Version || call.state.number("profile_version", 2) < 2)
    return Status::kVersionMismatch;
  auto& v2 = *static_cast<ProfileInfoV2*>(info);
  copy(name, v2.name, sizeof v2.name);
  return give_profile(profile, v2);
}
Status nvmlDeviceGetGpuInstancePossiblePlacements_v2(Device device, unsigned id, Placement* out,
                                                     unsigned* count) {
  const Call call(__func__, device);
  if (call.failed()) return call.status;
  const ModelProfile* profile = call.profile_with(id);
  if (profile == nullptr) return Status::kInvalidArgument;
  for (std::size_t i = 0; out != nullptr && i < profile->placements.size() && i < *count; ++i)
    out[i] = profile->placements[i];
  *count = static_cast<unsigned>(profile->placements.size());
  return Status::kSuccess;
}
Status nvmlDeviceGetGpuInstanceRemainingCapacity(Device device, unsigned id, unsigned* count) {
  const Call call(__func__, device);
  if (call.failed()) return call.status;
  if (!call.mig(device->gpu)) return Status::kNotSupported;
  const ModelProfile* profile = call.profile_with(id);
  if (profile == nullptr) return Status::kInvalidArgument;
  *count = 0;
  for (const Placement& at : profile->placements)
    *count += room_for(call, device->gpu, *profile, at) == Status::kSuccess ? 1 : 0;
  return Status::kSuccess;
}
Status nvmlDeviceCreateGpuInstanceWithPlacement(Device device, unsigned id, const Placement* at,
                                                GpuInstance* out) {
  Call call(__func__, device);
  if (call.failed()) return call.status;
  if (!call.mig(device->gpu)) return Status::kNotSupported;
  const ModelProfile* profile = call.profile_with(id);
  if (profile == nullptr || at == nullptr) return Status::kInvalidArgument;
  const Status room = room_for(call, device->gpu, *profile, *at);
  if (room != Status::kSuccess) return room;
  long number = 1;
  while (call.state.has(gi_key(device->gpu, number))) ++number;
  call.state.set(gi_key(device->gpu, number), std::to_string(id) + " " + std::to_string(at->start) +
                                                  " " + std::to_string(at->size));
  *out = instance_handle(device->gpu, number);
  return Status::kSuccess;
}
Status nvmlGpuInstanceDestroy(GpuInstance instance) {
  Call call(__func__, instance);
  if (call.failed()) return call.status;
  for (const Call::MigId& one : call.computes(instance->gpu))
    if (one.gi == instance->id) return Status::kInUse;
  call.state.set(gi_key(instance->gpu, instance->id), "");
  return Status::kSuccess;
}
Status nvmlDeviceGetGpuInstances(Device device, unsigned id, GpuInstance* out, unsigned* count) {
  const Call call(__func__, device);
  if (call.failed()) return call.status;
  if (!call.mig(device->gpu)) return Status::kNotSupported;
  unsigned found = 0;
  for (const Call::Occupant& one : call.occupants(device->gpu))
    if (one.profile == id) out[found++] = instance_handle(device->gpu, one.id);
  *count = found;
  return Status::kSuccess;
}
Status nvmlGpuInstanceGetInfo(GpuInstance instance, GpuInstanceInfo* info) {
  const Call call(__func__, instance);
  if (call.failed()) return call.status;
  for (const Call::Occupant& one : call.occupants(instance->gpu)) {
    if (one.id == instance->id)
      *info = {device_handle(instance->gpu, -1, -1), static_cast<std::uint32_t>(one.id),
               one.profile, one.at};
  }
  return Status::kSuccess;
}
Status nvmlGpuInstanceGetComputeInstanceProfileInfo(GpuInstance instance, unsigned number,
                                                    unsigned engines, ComputeProfileInfo* info) {
  const Call call(__func__, instance);
  if (call.failed()) return call.status;
  // The first number is unknown; the others are known.
  constexpr unsigned kSlices[] = {0, 1, 2, 3, 4, 7, 8, 6, 1, 7};
  if (number >= std::size(kSlices) || kSlices[number] == 0 || engines != 0)
    return Status::kInvalidArgument;
  unsigned slices = 0;
  for (const Call::Occupant& one : call.occupants(instance->gpu))
    if (one.id == instance->id) slices = call.profile_with(one.profile)->slices;
  if (kSlices[number] > slices || number > 5) return Status::kNotSupported;
  *info = {};
  info->id = kSlices[number];
  info->slices = kSlices[number];
  info->most = slices / kSlices[number];
  return Status::kSuccess;
}
Status nvmlGpuInstanceCreateComputeInstance(GpuInstance instance, unsigned profile,
                                            ComputeInstance* out) {
  Call call(__func__, instance);
  if (call.failed()) return call.status;
  for (const Call::MigId& one : call.computes(instance->gpu))
    if (one.gi == instance->id) return Status::kInsufficientResources;
  call.state.set(ci_key(instance->gpu, instance->id, 0), std::to_string(profile));
  *out = compute_handle(instance->gpu, instance->id, 0);
  return Status::kSuccess;
}
Status nvmlComputeInstanceDestroy(ComputeInstance compute) {
  Call call(__func__);
  if (call.failed()) return call.status;
  const std::string name = ci_key(compute->gpu, compute->gi, compute->id);
  if (!call.state.has(name)) return Status::kInvalidArgument;
  if (!call.processes(compute->gpu, compute->gi, compute->id).empty()) return Status::kInUse;
  call.state.set(name, "");
  return Status::kSuccess;
}
Status nvmlGpuInstanceGetComputeInstances(GpuInstance instance, unsigned profile,
                                          ComputeInstance* out, unsigned* count) {
  const Call call(__func__, instance);
  if (call.failed()) return call.status;
  unsigned found = 0;
  for (const Call::MigId& one : call.computes(instance->gpu))
    if (one.gi == instance->id && one.profile == profile)
      out[found++] = compute_handle(instance->gpu, one.gi, one.ci);
  *count = found;
  return Status::kSuccess;
}
Status nvmlComputeInstanceGetInfo_v2(ComputeInstance compute, ComputeInstanceInfo* info) {
  const Call call(__func__);
  if (call.failed()) return call.status;
  const auto profile =
      static_cast<std::uint32_t>(call.state.number(ci_key(compute->gpu, compute->gi, compute->id)));
  *info = {device_handle(compute->gpu, -1, -1),
           instance_handle(compute->gpu, compute->gi),
           static_cast<std::uint32_t>(compute->id),
           profile,
           {0, profile}};
  return Status::kSuccess;
}
}
