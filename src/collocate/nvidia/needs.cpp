#include "collocate/nvidia/needs.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace corral::collocate::nvidia {
namespace {

using plan::Share;
using plan::Sharing;

// Most CUDA contexts of a GPU in the newest drivers; 48 in earlier ones, since Volta. Each run has
// at least one.
constexpr std::size_t kMostMpsContexts = 60;

std::string list_of(const std::vector<Found>& machine) {
  std::string names;
  for (const Found& f : machine)
    names += fmt::format("{}{} ({})", names.empty() ? "" : ", ", f.gpu.index, f.gpu.name);
  return names.empty() ? "none" : names;
}

class Collector {
 public:
  Collector(const std::vector<Share>& shares, const std::vector<Found>& machine)
      : shares_(shares), machine_(machine) {
    for (const Found& found : machine) gpus_.push_back(found.gpu);
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
        problem("run {}: there is no GPU '{}' here; there are {}", run, written, list_of(machine_));
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
    for (const Found& found : machine_) {
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
    need.found = *std::ranges::find(machine_, uuid, [](const Found& f) { return f.gpu.uuid; });
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
  const std::vector<Found>& machine_;
  std::vector<Gpu> gpus_;
  Needs needs_;
};

}  // namespace

bool wants_changes(const Share& share) {
  return share.sharing == Sharing::kMps || share.sharing == Sharing::kMig || share.sm_clock_mhz ||
         share.memory_clock_mhz || share.power_watts;
}

Needs collect_needs(const std::vector<Share>& shares, const std::vector<Found>& machine) {
  return Collector(shares, machine).run();
}

}  // namespace corral::collocate::nvidia
