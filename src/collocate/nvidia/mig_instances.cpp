#include "collocate/nvidia/mig_instances.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>

#include "collocate/nvidia/mig.h"
#include "core/failpoint.h"
#include "core/json.h"
#include "sys/clock.h"

namespace corral::collocate::nvidia {
namespace {

constexpr unsigned kMostInstances = 16;
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

std::string gpu_instance_json(const Placed& placed, const std::vector<Instance>& there) {
  Json::Array ids;
  for (const Instance& instance : there) ids.emplace_back(std::int64_t{instance.id});
  return Json(Json::Object{{"profile", std::int64_t{placed.profile}},
                           {"start", std::int64_t{placed.placement.start}},
                           {"size", std::int64_t{placed.placement.size}},
                           {"there", std::move(ids)}})
      .dump();
}

// The part of an entry that names its GPU instance.
struct Named {
  Gpu gpu;
  Occupied at;
  std::optional<std::int64_t> id;   // known once it was created
  std::vector<std::int64_t> there;  // IDs of the former instances
};

Result<std::optional<Named>> read_entry(const Control& control, const Standing& entry) {
  auto gpu = gpu_of(control, entry.change.target);
  if (!gpu && gpu.error().code == Code::kNotFound) return std::optional<Named>();
  Named named{.gpu = TRY(std::move(gpu)), .at = {}, .id = {}, .there = {}};
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

bool is_ours(const Named& named, const Instance& instance) {
  if (instance.at.profile != named.at.profile || instance.at.placement != named.at.placement)
    return false;
  if (named.id) return std::int64_t{instance.id} == *named.id;
  return std::ranges::find(named.there, std::int64_t{instance.id}) == named.there.end();
}

Result<std::optional<Instance>> find_ours(const Control& control, const Named& named) {
  // The search needs only the profile's number, not the driver's list of profiles.
  const std::vector<Profile> one{{.id = named.at.profile,
                                  .name = "",
                                  .slices = 0,
                                  .most = kMostInstances,
                                  .memory_mib = 0,
                                  .placements = {}}};
  for (const Instance& instance : TRY(instances_of(control, named.gpu, one))) {
    if (is_ours(named, instance)) return std::optional(instance);
  }
  return std::optional<Instance>();
}

struct Compute {
  ComputeInstance handle = nullptr;
  unsigned id = 0;
};

std::vector<Compute> compute_instances_of(const Control& control, GpuInstance instance) {
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

Result<GpuInstance> make_gpu_instance(const Control& control, const Gpu& gpu, const Placed& placed,
                                      const std::string& words) {
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
    const Gpu gpu = TRY(gpu_of(control, uuid));
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
  for (const Profile& p : TRY(profiles_of(control, gpu)))
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
  const std::uint64_t entry = TRY(journal.note({.kind = "compute-instance",
                                                .target = gpu.uuid,
                                                .before = "",
                                                .after = after,
                                                .words = words,
                                                .outlives_reboot = false}));
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

std::string instance_words(const Profile& profile, const Placement& at, const Gpu& gpu) {
  return fmt::format("MIG {} on {}, memory slices {}-{}: created", profile.name, gpu.words(),
                     at.start, at.start + at.size - 1);
}

Result<std::string> create_instance(Journal& journal, const Control& control, std::string_view uuid,
                                    const Placed& placed) {
  const Gpu gpu = TRY(gpu_of(control, uuid));
  const std::vector<Profile> profiles = TRY(profiles_of(control, gpu));
  const auto profile = std::ranges::find(profiles, placed.profile, &Profile::id);
  if (profile == profiles.end())
    return fail(Code::kNotFound, gpu.words() + ": no such MIG profile");
  const std::string words = instance_words(*profile, placed.placement, gpu);
  const auto there = TRY(instances_of(control, gpu, profiles));
  const std::uint64_t entry = TRY(journal.note({.kind = "mig-instance",
                                                .target = gpu.uuid,
                                                .before = "",
                                                .after = gpu_instance_json(placed, there),
                                                .words = words,
                                                .outlives_reboot = false}));
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
  for (const Compute& compute : compute_instances_of(control, ours->handle)) {
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
