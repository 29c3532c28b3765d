#include "collect/sampler/listeners.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "collect/amd/amd_listener.h"
#include "collect/cgroup/cgroup_listener.h"
#include "collect/dcgm/dcgm_listener.h"
#include "collect/drm/drm_process_listener.h"
#include "collect/energy/energy_listener.h"
#include "collect/intel/intel_listener.h"
#include "collect/jetson/jetson_listener.h"
#include "collect/node/node_listener.h"
#include "collect/nvidia/nvidia_listener.h"
#include "collect/nvidia/process_listener.h"
#include "collect/proc/proc_listener.h"
#include "collect/sensors/sensors_listener.h"
#include "collect/tree/tree_listener.h"
#include "core/text.h"

namespace corral::collect {
namespace {

constexpr auto kListeners = std::to_array<ListenerEntry>({
    {"proc", "The host's CPUs, memory, paging, disks, network, load and pressure, from /proc.",
     metric::Owner::kHost, open_proc_listener},
    {"tree",
     "The run's own processes: cores, memory, faults, context switches and I/O, from /proc and "
     "perf.",
     metric::Owner::kRun, open_tree_listener},
    {"cgroup",
     "The run's control group: its limits and throttling, CPU time, memory, I/O, tasks and "
     "pressure.",
     metric::Owner::kRun, open_cgroup_listener},
    {"energy", "Joules of the processors and their memory: RAPL, from perf or powercap.",
     metric::Owner::kHost, open_energy_listener},
    {"node", "The host's reclaim, huge pages, NUMA nodes and NFS mounts, once a second.",
     metric::Owner::kHost, open_node_listener},
    {"sensors",
     "Temperatures, fans, power meters, CPU frequencies and thermal throttling, once a second.",
     metric::Owner::kHost, open_sensors_listener, Lane::kDevice},
    {"nvidia",
     "NVIDIA's GPUs and their MIG instances: use, memory, power, clocks, traffic and the activity "
     "of their units, from the driver's library (NVML, GPM).",
     metric::Owner::kHost, open_nvidia_listener, Lane::kDevice},
    {"nvidia-processes", "The run's own use of NVIDIA's GPUs, by process, once a second.",
     metric::Owner::kRun, open_nvidia_process_listener, Lane::kDevice},
    {"dcgm",
     "More of NVIDIA's GPUs from a host engine of DCGM: the "
     "activity of the units before Hopper.",
     metric::Owner::kHost, open_dcgm_listener, Lane::kDevice},
    {"drm-processes", "The run's own use of AMD's and Intel's GPUs, by process, once a second.",
     metric::Owner::kRun, open_drm_process_listener, Lane::kDevice},
    {"amd", "AMD's GPUs, from the files of the amdgpu driver.", metric::Owner::kHost,
     open_amd_listener, Lane::kDevice},
    {"intel", "Intel's GPUs, from the files of the drivers i915 and xe.", metric::Owner::kHost,
     open_intel_listener, Lane::kDevice},
    {"jetson", "The integrated GPU and the power rails of NVIDIA's Jetson boards.",
     metric::Owner::kHost, open_jetson_listener, Lane::kDevice},
});

tl::unexpected<Error> unknown_listener(std::string_view name,
                                       std::span<const std::string_view> also) {
  std::vector<std::string> names;
  for (const ListenerEntry& entry : listeners()) names.emplace_back(entry.name);
  std::vector<std::string> others;
  for (const std::string_view word : also)
    if (find_listener(word) == nullptr) others.emplace_back(word);
  std::vector<std::string> known = names;
  known.insert(known.end(), others.begin(), others.end());
  std::string message = "unknown listener '" + std::string(name) + "'";
  std::size_t least = std::min<std::size_t>(name.size(), 3);  // as far is another word
  std::string nearest;
  for (const std::string& other : known) {
    const std::size_t distance = edit_distance(name, other);
    if (distance >= least) continue;
    nearest = other;
    least = distance;
  }
  if (!nearest.empty()) message += ", did you mean '" + nearest + "'?";
  message += (nearest.empty() ? "; there are: " : " There are: ") + join(names, ", ");
  if (!others.empty()) message += "; and radT's " + join(others, ", ");
  return fail(Code::kInvalidArgument, message);
}

// The listener that stands for one of radT, whose names may be joined by +; or the reason why there
// is none.
struct RadtName {
  std::string_view name;
  std::string_view listeners;
  std::string_view instead{};
};

constexpr std::string_view kProfiler = "it is a profiler, not a listener; see corral run --profile";

constexpr auto kRadtNames = std::to_array<RadtName>({
    {"smi", "nvidia"},
    {"dcgmi", "nvidia+dcgm"},
    {"dcgm", "nvidia+dcgm"},
    {"top", "proc+tree"},
    {"ps", "tree"},
    {"iostat", "proc"},
    {"free", "proc"},
    {"macmon", "",
     "it exists only on Apple's machines: record it as an exec source, docs/sources.md"},
    {"nsys", "", kProfiler},
    {"nsysraw", "", kProfiler},
    {"ncu", "", kProfiler},
    {"ncuraw", "", kProfiler},
    {"ncuattach", "", kProfiler},
});

// Those that are accepted, here or as --profile.
std::span<const std::string_view> radt_words() {
  static const auto words = [] {
    std::vector<std::string_view> names;
    for (const RadtName& radt : kRadtNames)
      if (!radt.listeners.empty() || radt.instead == kProfiler) names.push_back(radt.name);
    return names;
  }();
  return words;
}

}  // namespace

std::span<const ListenerEntry> listeners() { return kListeners; }

const ListenerEntry* find_listener(std::string_view name) {
  for (const ListenerEntry& entry : kListeners) {
    if (entry.name == name) return &entry;
  }
  return nullptr;
}

Result<const ListenerEntry*> require_listener(std::string_view name,
                                              std::span<const std::string_view> also) {
  const ListenerEntry* entry = find_listener(name);
  if (entry == nullptr) return unknown_listener(name, also);
  return entry;
}

Result<std::vector<std::string>> select_listeners(std::string_view words) {
  std::vector<std::string> wanted;
  std::string joined(words);
  std::ranges::replace(joined, ',', '+');
  for (const std::string_view part : split(joined, '+')) {
    const std::string_view word = trim(part);
    if (word.empty()) continue;
    const auto radt = std::ranges::find(kRadtNames, word, &RadtName::name);
    if (radt == kRadtNames.end()) {
      wanted.emplace_back(TRY(require_listener(word, radt_words()))->name);
      continue;
    }
    if (radt->listeners.empty())
      return fail(Code::kUnsupported, fmt::format("listener '{}': {}", word, radt->instead));
    for (const std::string_view name : split(radt->listeners, '+')) wanted.emplace_back(name);
  }
  std::vector<std::string> names;
  for (const ListenerEntry& entry : listeners()) {
    if (wanted.empty() || std::ranges::find(wanted, entry.name) != wanted.end())
      names.emplace_back(entry.name);
  }
  return names;
}

}  // namespace corral::collect
