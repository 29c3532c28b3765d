#include "collocate/nvidia/device_plan.h"

#include <fmt/core.h>

#include <algorithm>
#include <functional>
#include <utility>

#include "collocate/nvidia/control.h"
#include "collocate/nvidia/mig.h"
#include "collocate/nvidia/mps.h"
#include "collocate/nvidia/needs.h"
#include "collocate/nvidia/settings.h"
#include "core/text.h"

namespace corral::collocate::nvidia {
namespace {

using plan::Share;
using plan::Sharing;

// One step of set().
struct Step {
  std::vector<std::string> words;
  bool privileged = true;  // needs root
  std::function<Result<>(Journal&)> make;
};

bool names_devices(const std::vector<Share>& shares) {
  return std::ranges::any_of(shares, [](const Share& s) { return !s.devices.empty(); });
}

std::string requested_change(const Share& share) {
  if (share.sharing == Sharing::kMps) return "MPS";
  if (share.sharing == Sharing::kMig) return "MIG " + share.profile;
  return share.power_watts ? "a power limit" : "a locked clock";
}

std::vector<std::string> visible(const std::string& devices) {
  return {"CUDA_DEVICE_ORDER=PCI_BUS_ID", "CUDA_VISIBLE_DEVICES=" + devices};
}

}  // namespace

struct DevicePlan::Impl {
  std::vector<Share> shares;
  DeviceOptions options;
  std::shared_ptr<const Control> control;  // null without a driver
  Needs needs;
  std::vector<Preflight> checks;   // one for each of needs.gpus
  std::vector<MpsDaemon> daemons;  // one for each of needs.mps
  std::vector<std::string> gpus;
  std::vector<Step> steps;
  std::vector<DeviceSeat> seats;

  Result<> read_machine() {
    seats.resize(shares.size());
    if (!names_devices(shares) && std::ranges::none_of(shares, wants_changes)) return {};
    auto opened = Control::open(options.nvml);
    if (!opened) return without_driver(opened.error());
    auto found = find_gpus(**opened);
    if (!found) return without_driver(found.error());
    if (found->empty()) return without_driver({Code::kUnsupported, "no NVIDIA GPU here"});
    control = *std::move(opened);
    std::vector<MachineGpu> machine;
    for (Gpu& gpu : *found) {
      std::vector<MigDevice> instances = mig_devices(*control, gpu);
      machine.push_back({.gpu = std::move(gpu), .instances = std::move(instances)});
    }
    needs = collect_needs(shares, machine);
    for (const Need& need : needs.gpus) gpus.push_back(need.found.gpu.uuid);
    TRY(check());
    plan_daemons();
    plan_steps();
    fill_seats();
    return {};
  }

  // Without a driver, devices are passed to the programs unchanged.
  Result<> without_driver(const Error& error) {
    std::vector<std::string> problems;
    for (std::size_t run = 0; run < shares.size(); ++run) {
      const Share& share = shares[run];
      if (wants_changes(share))
        problems.push_back(
            fmt::format("run {}: {}: {}", run, requested_change(share), error.message));
      if (share.devices.empty()) continue;
      seats[run].environment = visible(join(share.devices, ","));
      seats[run].notes.push_back("devices not checked, passed to the program unchanged: " +
                                 error.message);
      for (const std::string& device : share.devices) {
        seats[run].devices.push_back({.device = device});
        if (std::ranges::find(gpus, device) == gpus.end()) gpus.push_back(device);
      }
    }
    if (!problems.empty()) return fail(error.code, join(problems, "\n"));
    return {};
  }

  Result<> check() {
    std::vector<std::string> problems = needs.problems;
    for (const Need& need : needs.gpus) {
      checks.push_back(preflight(*control, need));
      const auto& found = checks.back().problems;
      problems.insert(problems.end(), found.begin(), found.end());
    }
    refuse_foreign_daemon(problems);
    if (!problems.empty()) return fail(Code::kUnprocessable, join(problems, "\n"));
    return {};
  }

  void refuse_foreign_daemon(std::vector<std::string>& problems) {
    const auto pid = mps_daemon_in(options.operator_pipe);
    if (!pid) return;
    const std::string there =
        fmt::format("an MPS daemon that Corral did not start runs here (pid {}, {})", *pid,
                    options.operator_pipe.string());
    for (std::size_t i = 0; i < needs.gpus.size(); ++i) {
      const Need& need = needs.gpus[i];
      if (!need.mps.empty()) {
        problems.push_back(
            fmt::format("run {}: MPS on {}: {}; it is not used, and two would "
                        "disturb each other: stop it, or leave the run to it with "
                        "'-'",
                        need.mps.front(), need.found.gpu.words(), there));
      } else {
        checks[i].notes.push_back(there + ": programs join it by themselves");
      }
    }
  }

  void plan_daemons() {
    for (const auto& members : needs.mps) {
      std::vector<std::string> uuids;
      uuids.reserve(members.size());
      for (const std::size_t gpu : members) uuids.push_back(needs.gpus[gpu].found.gpu.uuid);
      daemons.push_back(mps_daemon(options.state, uuids));
    }
  }

  void plan_steps() {
    for (std::size_t gpu = 0; gpu < needs.gpus.size(); ++gpu) {
      plan_settings(gpu);
      plan_instances(gpu);
    }
    for (std::size_t i = 0; i < daemons.size(); ++i) {
      std::string words = "MPS daemon for";
      for (const std::size_t gpu : needs.mps[i])
        words += fmt::format("{} {}", gpu == needs.mps[i].front() ? "" : ",",
                             needs.gpus[gpu].found.gpu.words());
      steps.push_back(
          {.words = {words + ": started"}, .privileged = false, .make = [this, i](Journal& j) {
             return start_mps(j, daemons[i], options.mps_control);
           }});
    }
  }

  void plan_settings(std::size_t index) {
    const Need& need = needs.gpus[index];
    const Preflight& found = checks[index];
    const Gpu& gpu = need.found.gpu;
    const auto setting = [&](const Setting& what, unsigned value) {
      const auto before = what.read(*control, gpu);
      if (before && *before == value) return;
      steps.push_back({.words = {change_words(what, gpu, before.value_or(0), value)},
                       .privileged = true,
                       .make = [this, uuid = gpu.uuid, &what, value](Journal& j) {
                         return change(j, *control, uuid, what, value);
                       }});
    };
    const auto clock = [&](ClockDomain domain, const std::optional<int>& mhz) {
      if (!mhz) return;
      steps.push_back({.words = {clock_words(domain, gpu, *mhz)},
                       .privileged = true,
                       .make = [this, uuid = gpu.uuid, domain, value = *mhz](Journal& j) {
                         return lock_clock(j, *control, uuid, domain, value);
                       }});
    };
    if (found.turn_persistence_on) setting(persistence_setting, 1);
    if (found.turn_mig_on) setting(mig_mode_setting, 1);
    if (found.turn_mig_off) setting(mig_mode_setting, 0);
    if (found.make_shareable)
      setting(compute_mode_setting, static_cast<unsigned>(ComputeMode::kDefault));
    clock(ClockDomain::kGpu, need.gpu_clock_mhz);
    clock(ClockDomain::kMemory, need.memory_clock_mhz);
    if (need.power_mw) setting(power_setting, *need.power_mw);
  }

  void plan_instances(std::size_t index) {
    const Preflight& found = checks[index];
    if (found.created.empty()) return;
    steps.push_back({.words = found.instances,
                     .privileged = true,
                     .make = [this, index](Journal& j) { return make_instances(j, index); }});
  }

  // Places the instances again: with the mode on, the driver may report more than before.
  Result<> make_instances(Journal& journal, std::size_t index) {
    const Gpu gpu = TRY(find_gpu_by_uuid(*control, needs.gpus[index].found.gpu.uuid));
    for (const PlacedInstance& placed : TRY(place_on(*control, gpu, checks[index].created)))
      set_instance(placed.run, TRY(create_instance(journal, *control, gpu.uuid, placed)));
    return {};
  }

  // Checks reused instances again: plan() came before the wait for the GPU's lock.
  [[nodiscard]] Result<> check_reused() const {
    for (std::size_t i = 0; i < checks.size(); ++i) {
      if (checks[i].reused.empty()) continue;
      const Gpu gpu = TRY(find_gpu_by_uuid(*control, needs.gpus[i].found.gpu.uuid));
      const std::vector<MigDevice> now = mig_devices(*control, gpu);
      for (const Reused& reused : checks[i].reused) {
        const auto found = std::ranges::find(now, reused.uuid, &MigDevice::uuid);
        if (found != now.end() && found->processes.empty()) continue;
        return fail(Code::kConflict,
                    fmt::format("run {}: MIG device {} of {} is {} meanwhile", reused.run,
                                reused.uuid, gpu.words(), found == now.end() ? "gone" : "in use"));
      }
    }
    return {};
  }

  [[nodiscard]] const MpsDaemon* daemon_for(std::size_t gpu) const {
    for (std::size_t i = 0; i < daemons.size(); ++i) {
      if (std::ranges::find(needs.mps[i], gpu) != needs.mps[i].end()) return &daemons[i];
    }
    return nullptr;
  }

  void fill_seats() {
    for (std::size_t run = 0; run < shares.size(); ++run) fill_seat(run);
    for (const Preflight& found : checks)
      for (const Reused& reused : found.reused) {
        set_instance(reused.run, reused.uuid);
        seats[reused.run].notes.push_back("MIG device " + reused.uuid +
                                          " was running and idle: it is used as it is");
      }
  }

  void fill_seat(std::size_t run) {
    const Share& share = shares[run];
    const std::vector<Target>& targets = needs.targets[run];
    DeviceSeat& seat = seats[run];
    std::vector<std::string> names;
    for (const Target& target : targets) {
      const std::string& uuid = needs.gpus[target.gpu].found.gpu.uuid;
      seat.devices.push_back(
          {.device = uuid, .instance = target.instance, .profile = target.profile});
      names.push_back(target.instance.empty() ? uuid : target.instance);
      const auto& notes = checks[target.gpu].notes;
      seat.notes.insert(seat.notes.end(), notes.begin(), notes.end());
    }
    // A new instance gets its name later.
    if (targets.empty() || share.sharing == Sharing::kMig) return;
    seat.environment = visible(join(names, ","));
    if (share.sharing != Sharing::kMps) return;
    if (const MpsDaemon* daemon = daemon_for(targets.front().gpu)) {
      for (std::string& variable : mps_environment(*daemon, share))
        seat.environment.push_back(std::move(variable));
    }
  }

  void set_instance(std::size_t run, const std::string& uuid) {
    for (SeatDevice& device : seats[run].devices) device.instance = uuid;
    seats[run].environment = visible(uuid);
  }

  // Adds one advice for all changes, instead of one for each that would be refused.
  [[nodiscard]] Error with_advice(const Error& error) const {
    if (error.code != Code::kPermission) return error;
    std::vector<std::string> words;
    for (const Step& step : steps) {
      if (step.privileged) words.insert(words.end(), step.words.begin(), step.words.end());
    }
    return {Code::kPermission, fmt::format("changing GPUs needs root (CAP_SYS_ADMIN): {}. Run the "
                                           "plan as root, or let an administrator make the changes "
                                           "and request none (Collocation '-', no clocks, no power "
                                           "limit)",
                                           join(words, "; "))};
  }
};

Result<DevicePlan> DevicePlan::plan(const std::vector<Share>& shares,
                                    const DeviceOptions& options) {
  auto impl = std::make_unique<Impl>();
  impl->shares = shares;
  impl->options = options;
  TRY(impl->read_machine());
  return DevicePlan(std::move(impl));
}

DevicePlan::DevicePlan(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
DevicePlan::DevicePlan(DevicePlan&&) noexcept = default;
DevicePlan& DevicePlan::operator=(DevicePlan&&) noexcept = default;
DevicePlan::~DevicePlan() = default;

const std::vector<std::string>& DevicePlan::gpus() const { return impl_->gpus; }

std::vector<std::string> DevicePlan::addresses(std::size_t run) const {
  std::vector<std::string> addresses;
  if (impl_->control == nullptr) return addresses;
  for (const Target& target : impl_->needs.targets.at(run))
    addresses.push_back(impl_->needs.gpus[target.gpu].found.gpu.address);
  return addresses;
}

std::vector<std::string> DevicePlan::changes() const {
  std::vector<std::string> words;
  for (const Step& step : impl_->steps)
    words.insert(words.end(), step.words.begin(), step.words.end());
  return words;
}

Result<> DevicePlan::set(Journal& journal) {
  TRY(impl_->check_reused());
  for (const Step& step : impl_->steps) {
    if (const auto made = step.make(journal); !made)
      return tl::unexpected(impl_->with_advice(made.error()));
  }
  return {};
}

const std::vector<DeviceSeat>& DevicePlan::seats() const { return impl_->seats; }

}  // namespace corral::collocate::nvidia
