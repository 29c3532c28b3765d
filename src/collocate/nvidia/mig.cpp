#include "collocate/nvidia/mig.h"

#include <algorithm>

namespace corral::collocate::nvidia {
namespace {

// More than any driver allows of a profile on a GPU.
constexpr unsigned kMostInstances = 16;

std::uint64_t memory_mib_of(const Control& control, const Gpu& gpu) {
  MemoryV1 memory{};
  return control.call().memory(gpu.handle, &memory) == Status::kSuccess ? memory.total >> 20U : 0;
}

template <class Info>
Profile profile_from(const Info& info) {
  return {.id = info.id,
          .name = profile_name(info.name),
          .slices = info.slices,
          .most = info.most,
          .memory_mib = info.memory_mib,
          .placements = {}};
}

// Reads a profile in the newest form that this driver accepts.
Status read_profile(const Control& control, const Gpu& gpu, unsigned number, Profile& profile) {
  const ControlFunctions& f = control.call();
  ProfileInfoV3 v3{};
  v3.version = kProfileInfoV3Version;
  if (f.profile(gpu.handle, number, &v3) == Status::kSuccess) {
    profile = profile_from(v3);
    return Status::kSuccess;
  }
  ProfileInfoV2 v2{};
  v2.version = kProfileInfoV2Version;
  if (f.profile(gpu.handle, number, &v2) == Status::kSuccess) {
    profile = profile_from(v2);
    return Status::kSuccess;
  }
  ProfileInfoV1 v1{};
  const Status status = f.profile_v1(gpu.handle, number, &v1);
  if (status == Status::kSuccess) {
    const std::uint64_t memory = std::max<std::uint64_t>(memory_mib_of(control, gpu), 1);
    profile = {.id = v1.id,
               .name = profile_name(v1, number, memory),
               .slices = v1.slices,
               .most = v1.most,
               .memory_mib = v1.memory_mib,
               .placements = {}};
  }
  return status;
}

Result<std::vector<Placement>> read_placements(const Control& control, const Gpu& gpu,
                                               const Profile& profile) {
  std::vector<Placement> placements(kMostInstances);
  auto count = static_cast<unsigned>(placements.size());
  const Status status =
      control.call().placements(gpu.handle, profile.id, placements.data(), &count);
  TRY(control.check(status, gpu.words() + ": placements of " + profile.name));
  placements.resize(std::min<std::size_t>(count, placements.size()));
  return placements;
}

}  // namespace

std::vector<MigDevice> mig_devices(const Control& control, const Gpu& gpu) {
  const ControlFunctions& f = control.call();
  unsigned room = 0;
  std::vector<MigDevice> found;
  if (f.mig_room(gpu.handle, &room) != Status::kSuccess) return found;
  for (unsigned i = 0; i < room; ++i) {
    MigDevice device;
    if (f.mig_device(gpu.handle, i, &device.handle) != Status::kSuccess) continue;
    char text[kProfileNameSize] = {};
    if (f.uuid(device.handle, text, sizeof text - 1) != Status::kSuccess) continue;
    device.uuid = text;
    if (f.name(device.handle, text, sizeof text - 1) == Status::kSuccess)
      device.profile = profile_name(text);
    f.gpu_instance_id(device.handle, &device.gpu_instance);
    f.compute_instance_id(device.handle, &device.compute_instance);
    device.processes = processes_on(control, device.handle);
    found.push_back(std::move(device));
  }
  return found;
}

Result<std::vector<Profile>> profiles_of(const Control& control, const Gpu& gpu) {
  std::vector<Profile> profiles;
  Status refused = Status::kNotSupported;
  for (unsigned number = 0; number < kMostProfiles; ++number) {
    Profile profile;
    const Status status = read_profile(control, gpu, number, profile);
    if (status == Status::kSuccess) {
      profile.placements = TRY(read_placements(control, gpu, profile));
      profiles.push_back(std::move(profile));
    } else if (status == Status::kFunctionNotFound || status == Status::kNoPermission) {
      refused = status;
      break;
    } else if (status != Status::kInvalidArgument) {
      refused = status;
    }
  }
  if (!profiles.empty()) return profiles;
  return tl::unexpected(control.error(refused, gpu.words() + ": MIG profiles"));
}

Result<std::vector<Instance>> instances_of(const Control& control, const Gpu& gpu,
                                           const std::vector<Profile>& profiles) {
  const ControlFunctions& f = control.call();
  std::vector<Instance> found;
  for (const Profile& profile : profiles) {
    GpuInstance handles[kMostInstances] = {};
    unsigned count = kMostInstances;
    const Status status = f.gpu_instances(gpu.handle, profile.id, handles, &count);
    if (status == Status::kNotSupported) return std::vector<Instance>();
    TRY(control.check(status, gpu.words() + ": MIG instances"));
    for (unsigned i = 0; i < std::min(count, kMostInstances); ++i) {
      GpuInstanceInfo info{};
      TRY(control.check(f.gpu_instance_info(handles[i], &info), gpu.words() + ": MIG instance"));
      found.push_back({.handle = handles[i],
                       .id = info.id,
                       .at = {.profile = info.profile, .placement = info.placement}});
    }
  }
  return found;
}

}  // namespace corral::collocate::nvidia
