#include "collocate/nvidia/needs.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "collocate/nvidia/settings.h"
#include "sys/clock.h"

namespace corral::collocate::nvidia {
namespace {

// ---- needs

using plan::Share;
using plan::Sharing;

// Most CUDA contexts of a GPU in the newest drivers; 48 in earlier ones, since Volta. Each run has
// at least one.
constexpr std::size_t kMostMpsContexts = 60;

std::string gpu_list(const std::vector<MachineGpu>& machine) {
  std::string names;
  for (const MachineGpu& f : machine)
    names += fmt::format("{}{} ({})", names.empty() ? "" : ", ", f.gpu.index, f.gpu.name);
  return names.empty() ? "none" : names;
}

class Collector {
 public:
  Collector(const std::vector<Share>& shares, const std::vector<MachineGpu>& machine)
      : shares_(shares), machine_(machine) {
    for (const MachineGpu& found : machine) gpus_.push_back(found.gpu);
  }

  Needs run() {
    needs_.targets.resize(shares_.size());
    for (std::size_t run = 0; run < shares_.size(); ++run) add(run);
    for (const Need& need : needs_.gpus) check(need);
    group_mps();
    return std::move(needs_);
  }

 private:
  template <class... Parts>
  void problem(fmt::format_string<Parts...> format, Parts&&... parts) {
    needs_.problems.push_back(fmt::format(format, std::forward<Parts>(parts)...));
  }

  void add(std::size_t run) {
    const Share& share = shares_[run];
    if (share.devices.empty() && wants_changes(share))
      problem("run {}: it shares or configures a GPU, but names no device", run);
    if (share.sharing == Sharing::kMig && share.devices.size() > 1) {
      problem("run {}: a program sees one MIG instance only, and its devices are {}", run,
              share.devices.size());
      return;
    }
    for (const std::string& written : share.devices) add_device(run, written);
  }

  void add_device(std::size_t run, const std::string& written) {
    Target target;
    if (written.starts_with("MIG-")) {
      if (!find_instance(run, written, target)) return;
    } else {
      const Gpu* gpu = find_gpu(gpus_, written);
      if (gpu == nullptr) {
        problem("run {}: there is no GPU '{}' here; there are {}", run, written,
                gpu_list(machine_));
        return;
      }
      target.gpu = index_of(gpu->uuid);
    }
    Need& need = needs_.gpus[target.gpu];
    for (const Target& other : needs_.targets[run]) {
      if (other.gpu != target.gpu) continue;
      problem("run {}: {} is named twice", run, need.found.gpu.words());
      return;
    }
    note_use(run, target, need);
    needs_.targets[run].push_back(std::move(target));
  }

  bool find_instance(std::size_t run, const std::string& written, Target& target) {
    for (const MachineGpu& found : machine_) {
      for (const MigDevice& device : found.instances) {
        if (device.uuid != written) continue;
        target = {
            .gpu = index_of(found.gpu.uuid), .instance = device.uuid, .profile = device.profile};
        return true;
      }
    }
    problem("run {}: there is no MIG device {} here", run, written);
    return false;
  }

  std::size_t index_of(const std::string& uuid) {
    const auto known =
        std::ranges::find(needs_.gpus, uuid, [](const Need& need) { return need.found.gpu.uuid; });
    if (known != needs_.gpus.end()) return static_cast<std::size_t>(known - needs_.gpus.begin());
    Need need;
    need.found = *std::ranges::find(machine_, uuid, [](const MachineGpu& f) { return f.gpu.uuid; });
    needs_.gpus.push_back(std::move(need));
    return needs_.gpus.size() - 1;
  }

  void note_use(std::size_t run, Target& target, Need& need) {
    const Share& share = shares_[run];
    if (!target.instance.empty()) {
      need.there.push_back(run);
      if (wants_changes(share))
        problem("run {}: it names a MIG device, which can only be used as it is", run);
      return;
    }
    if (share.sharing == Sharing::kMig) {
      target.profile = share.profile;
      need.mig.push_back({.run = run, .profile = share.profile});
    } else {
      need.whole.push_back(run);
      if (share.sharing == Sharing::kMps) need.mps.push_back(run);
    }
    std::optional<int> milliwatts;
    if (share.power_watts) milliwatts = static_cast<int>(std::lround(*share.power_watts * 1000));
    agree(run, share.sm_clock_mhz, need.gpu_clock_mhz, need, "SM clock, MHz");
    agree(run, share.memory_clock_mhz, need.memory_clock_mhz, need, "memory clock, MHz");
    std::optional<int> power;
    if (need.power_mw) power = static_cast<int>(*need.power_mw);
    agree(run, milliwatts, power, need, "power limit, mW");
    if (power && *power > 0) need.power_mw = static_cast<unsigned>(*power);
  }

  void agree(std::size_t run, const std::optional<int>& wanted, std::optional<int>& so_far,
             const Need& need, std::string_view what) {
    if (!wanted) return;
    if (*wanted <= 0) {
      problem("run {}: {} of {}: {} is not a valid value", run, what, need.found.gpu.words(),
              *wanted);
    } else if (so_far && *so_far != *wanted) {
      problem("run {}: {} of {}: {}, but another run of the workload requests {}", run, what,
              need.found.gpu.words(), *wanted, *so_far);
    } else {
      so_far = *wanted;
    }
  }

  void check(const Need& need) {
    const std::string gpu = need.found.gpu.words();
    if (!need.whole.empty() && !(need.mig.empty() && need.there.empty())) {
      const std::size_t part = need.mig.empty() ? need.there.front() : need.mig.front().run;
      problem("run {}: it has all of {}, of which run {} has a MIG instance", need.whole.front(),
              gpu, part);
    }
    if (need.mps.size() > kMostMpsContexts)
      problem("{}: {} runs share it by MPS, which serves at most {} contexts", gpu, need.mps.size(),
              kMostMpsContexts);
  }

  // A client reaches one daemon, so all GPUs of a run belong to one daemon.
  void group_mps() {
    std::vector<std::size_t> group(needs_.gpus.size());
    std::iota(group.begin(), group.end(), std::size_t{0});
    for (std::size_t run = 0; run < shares_.size(); ++run) {
      if (shares_[run].sharing != Sharing::kMps || needs_.targets[run].empty()) continue;
      const std::size_t into = group[needs_.targets[run].front().gpu];
      for (const Target& target : needs_.targets[run])
        std::ranges::replace(group, std::size_t{group[target.gpu]}, into);
    }
    for (std::size_t id = 0; id < group.size(); ++id) {
      std::vector<std::size_t> members;
      for (std::size_t gpu = 0; gpu < group.size(); ++gpu)
        if (group[gpu] == id && !needs_.gpus[gpu].mps.empty()) members.push_back(gpu);
      if (!members.empty()) needs_.mps.push_back(std::move(members));
    }
  }

  const std::vector<Share>& shares_;
  const std::vector<MachineGpu>& machine_;
  std::vector<Gpu> gpus_;
  Needs needs_;
};

// ---- preflight

constexpr Nanos kTeardownWait{std::chrono::seconds(2)};
constexpr Nanos kTeardownPause{std::chrono::milliseconds(20)};

class Checks {
 public:
  Checks(const Control& control, const Need& need)
      : control_(control), need_(need), gpu_(need.found.gpu) {}

  Preflight run() {
    users_ = processes_on(control_, gpu_.handle);
    check_mig();
    if (!on_after_) check_compute_mode();
    check_clock(ClockDomain::kGpu, need_.gpu_clock_mhz);
    check_clock(ClockDomain::kMemory, need_.memory_clock_mhz);
    check_power();
    check_persistence();
    if (!users_.empty()) {
      plan_.notes.push_back(
          fmt::format("{}: process {} uses it, too", gpu_.words(), process_list(users_)));
    }
    return std::move(plan_);
  }

 private:
  template <class... Parts>
  void problem(fmt::format_string<Parts...> format, Parts&&... parts) {
    plan_.problems.push_back(fmt::format(format, std::forward<Parts>(parts)...));
  }

  void check_mig() {
    unsigned now = 0;
    unsigned pending = 0;
    const Status status = control_.call().mig_mode(gpu_.handle, &now, &pending);
    if (status != Status::kSuccess) {
      for (const WantedInstance& wanted : need_.mig)
        problem("run {}: {}", wanted.run,
                control_.error(status, gpu_.long_words() + " cannot be divided by MIG").message);
      return;
    }
    on_after_ = now != 0;
    const bool wants_on = !need_.mig.empty();
    const bool wants_off = !need_.whole.empty();
    if (now != pending && (wants_on || wants_off)) {
      problem(
          "{}: its MIG mode becomes {} at the next reset of the GPU, "
          "which an administrator must make first",
          gpu_.words(), mig_mode_setting.words(pending));
      return;
    }
    if (wants_on) plan_instances(now != 0);
    if (wants_off && now != 0) turn_mig_off();
  }

  void turn_mig_off() {
    const std::size_t count = need_.found.instances.size();
    if (count > 0) {
      problem(
          "run {}: {} is divided into {} MIG instance{}, which "
          "Corral did not make: name one of them, a profile, or let "
          "them be removed",
          need_.whole.front(), gpu_.words(), count, count == 1 ? "" : "s");
      return;
    }
    refuse_users(false);
    plan_.turn_mig_off = true;
    on_after_ = false;
  }

  void refuse_users(bool on) {
    await_teardown();
    if (users_.empty()) return;
    problem("{}: MIG mode cannot be turned {} while process {} uses the GPU", gpu_.words(),
            mig_mode_setting.words(on ? 1 : 0), process_list(users_));
  }

  // The driver may still be busy with the remains of a process that has just ended, such as a run
  // of the workload before.
  void await_teardown() {
    const auto is_gone = [](unsigned pid) { return !fs::exists(fmt::format("/proc/{}", pid)); };
    const BootTime deadline = sys::boot_now() + kTeardownWait;
    while (std::ranges::any_of(users_, is_gone) && sys::boot_now() < deadline) {
      sys::system_clock().sleep_until(sys::boot_now() + kTeardownPause);
      users_ = processes_on(control_, gpu_.handle);
    }
  }

  void plan_instances(bool on) {
    if (!on) {
      refuse_users(true);
      plan_.turn_mig_on = true;
    }
    on_after_ = true;
    for (const WantedInstance& wanted : need_.mig)
      if (!reuse(wanted)) plan_.created.push_back(wanted);
    if (plan_.created.empty()) return;
    auto placed = place_on(control_, gpu_, plan_.created);
    if (placed) return describe(*placed);
    const Code code = placed.error().code;
    if (code == Code::kUnprocessable || (on && code != Code::kPermission)) {
      plan_.problems.push_back(placed.error().message);
      return;
    }
    // Some drivers report their offers only while the mode is on, and to root only: set() finds the
    // places, or names the missing condition.
    for (const WantedInstance& wanted : plan_.created)
      plan_.instances.push_back(fmt::format("MIG {} on {}: created", wanted.profile, gpu_.words()));
  }

  void describe(const std::vector<PlacedInstance>& placed) {
    const auto profiles = read_profiles(control_, gpu_);
    if (!profiles) return;
    for (const PlacedInstance& one : placed) {
      const auto profile = std::ranges::find(*profiles, one.profile, &Profile::id);
      if (profile != profiles->end())
        plan_.instances.push_back(instance_words(*profile, one.placement, gpu_));
    }
  }

  bool reuse(const WantedInstance& wanted) {
    for (const MigDevice& device : need_.found.instances) {
      const bool taken =
          std::ranges::find(plan_.reused, device.uuid, &Reused::uuid) != plan_.reused.end();
      if (taken || device.profile != wanted.profile || !device.processes.empty()) continue;
      plan_.reused.push_back({.run = wanted.run, .uuid = device.uuid});
      return true;
    }
    return false;
  }

  // The MPS daemon has one context for all of its clients.
  void check_compute_mode() {
    if (need_.whole.empty()) return;
    const auto mode = compute_mode_setting.read(control_, gpu_);
    if (!mode) return;
    const auto contexts = need_.whole.size() - need_.mps.size() + (need_.mps.empty() ? 0 : 1);
    if (static_cast<ComputeMode>(*mode) == ComputeMode::kProhibited) {
      problem("{}: its compute mode forbids programs; an administrator set it so", gpu_.words());
    } else if (static_cast<ComputeMode>(*mode) != ComputeMode::kDefault && contexts > 1) {
      plan_.make_shareable = true;
    }
  }

  void check_clock(ClockDomain domain, const std::optional<int>& mhz) {
    if (!mhz) return;
    const auto nearest = nearest_clock(control_, gpu_, domain, *mhz);
    if (!nearest || *nearest == *mhz) return;
    problem("{}: no {} clock of {} MHz; the nearest is {} MHz", gpu_.long_words(),
            domain == ClockDomain::kGpu ? "SM" : "memory", *mhz, *nearest);
  }

  void check_power() {
    if (!need_.power_mw) return;
    unsigned least = 0;
    unsigned most = 0;
    if (control_.call().power_limit_range(gpu_.handle, &least, &most) != Status::kSuccess) return;
    if (*need_.power_mw >= least && *need_.power_mw <= most) return;
    problem("{}: a power limit of {} is not possible: expected {} to {}", gpu_.long_words(),
            power_setting.words(*need_.power_mw), power_setting.words(least),
            power_setting.words(most));
  }

  // Without persistence, clocks and limits end with the driver's last user, between two runs.
  void check_persistence() {
    if (!need_.changes_settings()) return;
    const auto persistence = persistence_setting.read(control_, gpu_);
    plan_.turn_persistence_on = persistence && *persistence == 0;
  }

  const Control& control_;
  const Need& need_;
  const Gpu& gpu_;
  std::vector<unsigned> users_;
  bool on_after_ = false;
  Preflight plan_;
};

}  // namespace

// ---- needs

bool wants_changes(const Share& share) {
  return share.sharing == Sharing::kMps || share.sharing == Sharing::kMig || share.sm_clock_mhz ||
         share.memory_clock_mhz || share.power_watts;
}

Needs collect_needs(const std::vector<Share>& shares, const std::vector<MachineGpu>& machine) {
  return Collector(shares, machine).run();
}

// ---- preflight

Preflight preflight(const Control& control, const Need& need) {
  return Checks(control, need).run();
}

Result<std::vector<PlacedInstance>> place_on(const Control& control, const Gpu& gpu,
                                             const std::vector<WantedInstance>& wanted) {
  const std::vector<Profile> profiles = TRY(read_profiles(control, gpu));
  std::vector<Occupied> there;
  for (const Instance& instance : TRY(read_instances(control, gpu, profiles)))
    there.push_back(instance.at);
  return place(profiles, there, wanted, gpu.long_words());
}

}  // namespace corral::collocate::nvidia
