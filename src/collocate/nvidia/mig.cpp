#include "collocate/nvidia/mig.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>

#include "core/failpoint.h"
#include "core/json.h"
#include "sys/clock.h"

namespace corral::collocate::nvidia {
namespace {

// ---- reading

// More than any driver allows of a profile on a GPU.
constexpr unsigned kMostInstances = 16;

std::uint64_t read_memory_mib(const Control& control, const Gpu& gpu) {
  MemoryV1 memory{};
  return control.call().memory(gpu.handle, &memory) == Status::kSuccess ? memory.total >> 20U : 0;
}

// Reads a profile with its name; false if this driver does not know the form. Version 3 is not
// asked for: an H100's driver 580 answered "MIG 7g.0gb" for 1g.10gb, at another place than the
// header's.
bool read_named_profile(const Control& control, const Gpu& gpu, unsigned number, Profile& profile) {
  ProfileInfoV2 info{};
  info.version = kProfileInfoV2Version;
  if (control.call().profile(gpu.handle, number, &info) != Status::kSuccess) return false;
  profile = {.id = info.id,
             .name = profile_name(info.name),
             .slices = info.slices,
             .most = info.most,
             .memory_mib = info.memory_mib};
  return true;
}

// Reads a profile in the newest form that this driver accepts.
Status read_profile(const Control& control, const Gpu& gpu, unsigned number, Profile& profile) {
  if (read_named_profile(control, gpu, number, profile)) return Status::kSuccess;
  ProfileInfoV1 v1{};
  const Status status = control.call().profile_v1(gpu.handle, number, &v1);
  if (status == Status::kSuccess) {
    const std::uint64_t memory = std::max<std::uint64_t>(read_memory_mib(control, gpu), 1);
    profile = {.id = v1.id,
               .name = profile_name(v1, number, memory),
               .slices = v1.slices,
               .most = v1.most,
               .memory_mib = v1.memory_mib};
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

// ---- making and removing

// A new instance is listed as a device at once or, with services that watch, a little later.
constexpr Nanos kListingWait{std::chrono::seconds(5)};
constexpr Nanos kListingPause{std::chrono::milliseconds(20)};

std::optional<ComputeProfileInfo> filling_profile(const Control& control, GpuInstance instance,
                                                  unsigned slices) {
  for (unsigned number = 0; number < kMostProfiles; ++number) {
    ComputeProfileInfo info{};
    const Status status = control.call().compute_profile(instance, number, kSharedEngines, &info);
    if (status == Status::kFunctionNotFound) break;
    if (status == Status::kSuccess && info.slices == slices) return info;
  }
  return std::nullopt;
}

std::string gpu_instance_json(const PlacedInstance& placed, const std::vector<Instance>& there) {
  Json::Array ids;
  for (const Instance& instance : there) ids.emplace_back(std::int64_t{instance.id});
  return Json(Json::Object{{"profile", std::int64_t{placed.profile}},
                           {"start", std::int64_t{placed.placement.start}},
                           {"size", std::int64_t{placed.placement.size}},
                           {"there", std::move(ids)}})
      .dump();
}

// The part of an entry that names its GPU instance.
struct EntryInstance {
  Gpu gpu;
  Occupied at;
  std::optional<std::int64_t> id;   // known once it was created
  std::vector<std::int64_t> there;  // IDs of the former instances
};

Result<std::optional<EntryInstance>> read_entry(const Control& control, const Standing& entry) {
  auto gpu = find_gpu_by_uuid(control, entry.change.target);
  if (!gpu && gpu.error().code == Code::kNotFound) return std::optional<EntryInstance>();
  EntryInstance named{.gpu = TRY(std::move(gpu)), .at = {}, .id = {}, .there = {}};
  const Json after = TRY(Json::parse(entry.change.after));
  named.at = {.profile = static_cast<std::uint32_t>(after.get_int("profile", -1)),
              .placement = {static_cast<std::uint32_t>(after.get_int("start", -1)),
                            static_cast<std::uint32_t>(after.get_int("size", -1))}};
  if (after.find("gi") != nullptr) named.id = after.get_int("gi");
  if (const Json* there = after.find("there"); there != nullptr && there->as_array() != nullptr) {
    for (const Json& id : *there->as_array())
      named.there.push_back(id.as_int() != nullptr ? *id.as_int() : -1);
  }
  const auto particulars = Json::parse(entry.particulars);
  if (entry.complete && particulars && particulars->find("gi") != nullptr)
    named.id = particulars->get_int("gi");
  return named;
}

bool is_ours(const EntryInstance& named, const Instance& instance) {
  if (instance.at.profile != named.at.profile || instance.at.placement != named.at.placement)
    return false;
  if (named.id) return std::int64_t{instance.id} == *named.id;
  return std::ranges::find(named.there, std::int64_t{instance.id}) == named.there.end();
}

Result<std::optional<Instance>> find_ours(const Control& control, const EntryInstance& named) {
  // The search needs only the profile's number, not the driver's list of profiles.
  const std::vector<Profile> one{
      {.id = named.at.profile, .name = "", .slices = 0, .most = kMostInstances, .memory_mib = 0}};
  for (const Instance& instance : TRY(read_instances(control, named.gpu, one))) {
    if (is_ours(named, instance)) return std::optional(instance);
  }
  return std::optional<Instance>();
}

struct Compute {
  ComputeInstance handle = nullptr;
  unsigned id = 0;
};

std::vector<Compute> read_compute_instances(const Control& control, GpuInstance instance) {
  const ControlFunctions& f = control.call();
  std::vector<Compute> found;
  for (unsigned number = 0; number < kMostProfiles; ++number) {
    ComputeProfileInfo profile{};
    const Status status = f.compute_profile(instance, number, kSharedEngines, &profile);
    if (status == Status::kFunctionNotFound) break;
    if (status != Status::kSuccess) continue;
    ComputeInstance handles[kMostInstances] = {};
    unsigned count = kMostInstances;
    if (f.compute_instances(instance, profile.id, handles, &count) != Status::kSuccess) continue;
    for (unsigned i = 0; i < std::min(count, kMostInstances); ++i) {
      ComputeInstanceInfo info{};
      if (f.compute_instance_info(handles[i], &info) == Status::kSuccess)
        found.push_back({handles[i], info.id});
    }
  }
  return found;
}

Result<GpuInstance> make_gpu_instance(const Control& control, const Gpu& gpu,
                                      const PlacedInstance& placed, const std::string& words) {
  GpuInstance handle = nullptr;
  const ControlFunctions& f = control.call();
  const Status status =
      f.create_gpu_instance(gpu.handle, placed.profile, &placed.placement, &handle);
  if (status == Status::kInsufficientResources) {
    unsigned room = 0;
    f.remaining_capacity(gpu.handle, placed.profile, &room);
    return fail(Code::kUnavailable,
                fmt::format("{}: the driver has no space for it there any more; elsewhere for {}",
                            words, room));
  }
  TRY(control.check(status, words));
  return handle;
}

Result<std::string> listed_uuid(const Control& control, std::string_view uuid, unsigned gi,
                                unsigned ci) {
  const BootTime deadline = sys::boot_now() + kListingWait;
  for (;;) {
    const Gpu gpu = TRY(find_gpu_by_uuid(control, uuid));
    for (const MigDevice& device : mig_devices(control, gpu)) {
      if (device.gpu_instance == gi && device.compute_instance == ci) return device.uuid;
    }
    if (sys::boot_now() >= deadline)
      return fail(Code::kUnavailable, gpu.words() + ": the new MIG device is not listed");
    sys::system_clock().sleep_until(sys::boot_now() + kListingPause);
  }
}

// Makes the second half, a compute instance in a new GPU instance. Returns the MIG device's UUID.
Result<std::string> fill_instance(Journal& journal, const Control& control, const Gpu& gpu,
                                  const Instance& instance) {
  const ControlFunctions& f = control.call();
  std::uint32_t slices = 0;
  for (const Profile& p : TRY(read_profiles(control, gpu)))
    if (p.id == instance.at.profile) slices = p.slices;
  const auto profile = filling_profile(control, instance.handle, slices);
  if (!profile)
    return fail(Code::kUnsupported, gpu.words() + ": no compute instance fills the MIG instance");
  const std::string after = Json(Json::Object{{"gi", std::int64_t{instance.id}},
                                              {"profile", std::int64_t{instance.at.profile}},
                                              {"start", std::int64_t{instance.at.placement.start}},
                                              {"size", std::int64_t{instance.at.placement.size}}})
                                .dump();
  const std::string words =
      fmt::format("compute instance in MIG instance {} of {}: created", instance.id, gpu.words());
  const std::uint64_t entry = TRY(journal.note(
      {.kind = "compute-instance", .target = gpu.uuid, .after = after, .words = words}));
  ComputeInstance handle = nullptr;
  const Status status = f.create_compute_instance(instance.handle, profile->id, &handle);
  if (status != Status::kSuccess) {
    TRY(journal.undone(entry));
    return tl::unexpected(control.error(status, words));
  }
  failpoint::reach("nvidia.made");
  ComputeInstanceInfo info{};
  TRY(control.check(f.compute_instance_info(handle, &info), words));
  const std::string uuid = TRY(listed_uuid(control, gpu.uuid, instance.id, info.id));
  TRY(journal.complete(entry,
                       Json(Json::Object{{"ci", std::int64_t{info.id}}, {"uuid", uuid}}).dump()));
  return uuid;
}

}  // namespace

// ---- reading

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

Result<std::vector<Profile>> read_profiles(const Control& control, const Gpu& gpu) {
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

Result<std::vector<Instance>> read_instances(const Control& control, const Gpu& gpu,
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

// ---- making and removing

std::string instance_words(const Profile& profile, const Placement& at, const Gpu& gpu) {
  return fmt::format("MIG {} on {}, memory slices {}-{}: created", profile.name, gpu.words(),
                     at.start, at.start + at.size - 1);
}

Result<std::string> create_instance(Journal& journal, const Control& control, std::string_view uuid,
                                    const PlacedInstance& placed) {
  const Gpu gpu = TRY(find_gpu_by_uuid(control, uuid));
  const std::vector<Profile> profiles = TRY(read_profiles(control, gpu));
  const auto profile = std::ranges::find(profiles, placed.profile, &Profile::id);
  if (profile == profiles.end())
    return fail(Code::kNotFound, gpu.words() + ": no such MIG profile");
  const std::string words = instance_words(*profile, placed.placement, gpu);
  const auto there = TRY(read_instances(control, gpu, profiles));
  const std::uint64_t entry = TRY(journal.note({.kind = "mig-instance",
                                                .target = gpu.uuid,
                                                .after = gpu_instance_json(placed, there),
                                                .words = words}));
  const auto handle = make_gpu_instance(control, gpu, placed, words);
  if (!handle) {
    TRY(journal.undone(entry));
    return tl::unexpected(handle.error());
  }
  failpoint::reach("nvidia.made");
  GpuInstanceInfo info{};
  TRY(control.check(control.call().gpu_instance_info(*handle, &info), words));
  TRY(journal.complete(entry, Json(Json::Object{{"gi", std::int64_t{info.id}}}).dump()));
  return fill_instance(journal, control, gpu,
                       {.handle = *handle,
                        .id = info.id,
                        .at = {.profile = placed.profile, .placement = placed.placement}});
}

Result<bool> put_back_gpu_instance(const Control& control, const Standing& entry, bool dry_run) {
  const auto named = TRY(read_entry(control, entry));
  if (!named) return false;
  const auto ours = TRY(find_ours(control, *named));
  if (!ours) return false;
  if (dry_run) return true;
  const Status status = control.call().destroy_gpu_instance(ours->handle);
  TRY(control.check(status,
                    fmt::format("destroying MIG instance {} of {}", ours->id, named->gpu.words())));
  return true;
}

Result<bool> put_back_compute_instance(const Control& control, const Standing& entry,
                                       bool dry_run) {
  const auto named = TRY(read_entry(control, entry));
  if (!named) return false;
  const auto ours = TRY(find_ours(control, *named));
  if (!ours) return false;
  const auto particulars = Json::parse(entry.particulars);
  const std::int64_t id =
      entry.complete && particulars ? particulars->get_int("ci", -1) : std::int64_t{-1};
  bool destroyed = false;
  for (const Compute& compute : read_compute_instances(control, ours->handle)) {
    // The GPU instance is ours: if the entry has no ID, any compute instance in it is the one.
    if (id >= 0 && std::int64_t{compute.id} != id) continue;
    destroyed = true;
    if (dry_run) continue;
    TRY(control.check(control.call().destroy_compute_instance(compute.handle),
                      fmt::format("destroying the compute instance in MIG instance {} of {}",
                                  ours->id, named->gpu.words())));
  }
  return destroyed;
}

std::vector<unsigned> users_of_instance(const Control& control, const Standing& entry) {
  const auto named = read_entry(control, entry);
  if (!named || !*named) return {};
  const auto ours = find_ours(control, **named);
  if (!ours || !*ours) return {};
  std::vector<unsigned> users;
  for (const MigDevice& device : mig_devices(control, (*named)->gpu)) {
    if (device.gpu_instance == (*ours)->id)
      users.insert(users.end(), device.processes.begin(), device.processes.end());
  }
  return users;
}

}  // namespace corral::collocate::nvidia
