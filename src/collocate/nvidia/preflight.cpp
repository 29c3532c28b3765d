#include "collocate/nvidia/preflight.h"

#include <fmt/core.h>

#include <algorithm>

#include "collocate/nvidia/mig_instances.h"
#include "collocate/nvidia/settings.h"
#include "sys/clock.h"

namespace corral::collocate::nvidia {
namespace {

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
          fmt::format("{}: process {} uses it, too", gpu_.words(), words_of_processes(users_)));
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
      for (const Wanted& wanted : need_.mig)
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
            mig_mode_setting.words(on ? 1 : 0), words_of_processes(users_));
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
    for (const Wanted& wanted : need_.mig)
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
    for (const Wanted& wanted : plan_.created)
      plan_.instances.push_back(fmt::format("MIG {} on {}: created", wanted.profile, gpu_.words()));
  }

  void describe(const std::vector<Placed>& placed) {
    const auto profiles = profiles_of(control_, gpu_);
    if (!profiles) return;
    for (const Placed& one : placed) {
      const auto profile = std::ranges::find(*profiles, one.profile, &Profile::id);
      if (profile != profiles->end())
        plan_.instances.push_back(instance_words(*profile, one.placement, gpu_));
    }
  }

  bool reuse(const Wanted& wanted) {
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

Preflight preflight(const Control& control, const Need& need) {
  return Checks(control, need).run();
}

Result<std::vector<Placed>> place_on(const Control& control, const Gpu& gpu,
                                     const std::vector<Wanted>& wanted) {
  const std::vector<Profile> profiles = TRY(profiles_of(control, gpu));
  std::vector<Occupied> there;
  for (const Instance& instance : TRY(instances_of(control, gpu, profiles)))
    there.push_back(instance.at);
  return place(profiles, there, wanted, gpu.long_words());
}

}  // namespace corral::collocate::nvidia
