#include "cli/plan_known.h"

#include <sched.h>
#include <unistd.h>

#include <cstdlib>

#include "cli/run_order.h"
#include "collect/sampler/listeners.h"
#include "collocate/nvidia/control.h"
#include "collocate/nvidia/gpu.h"
#include "collocate/nvidia/mig.h"
#include "environment/environment.h"
#include "run/profiler.h"
#include "sys/file.h"

namespace corral::cli {
namespace {

namespace nvidia = collocate::nvidia;

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::vector<plan::MigProfile> known_profiles(const nvidia::Control& control,
                                             const nvidia::Gpu& gpu) {
  std::vector<plan::MigProfile> all;
  const auto profiles = nvidia::read_profiles(control, gpu);
  if (!profiles) return all;  // the published ones, then
  for (const nvidia::Profile& profile : *profiles) {
    if (profile.placements.empty()) return {};  // the driver answers root alone
    plan::MigProfile known;
    known.name = profile.name;
    known.slices = static_cast<int>(profile.slices);
    known.most = static_cast<int>(profile.most);
    for (const nvidia::Placement& place : profile.placements) {
      known.placements.push_back(static_cast<int>(place.start));
      known.memory_slices = static_cast<int>(place.size);
    }
    all.push_back(std::move(known));
  }
  return all;
}

std::vector<plan::KnownDevice> devices_here() {
  std::vector<plan::KnownDevice> devices;
  const auto control = nvidia::Control::open(variable("CORRAL_NVML_LIBRARY"));
  if (!control) return devices;
  const auto gpus = nvidia::find_gpus(**control);
  if (!gpus) return devices;
  for (const nvidia::Gpu& gpu : *gpus)
    devices.push_back({std::to_string(gpu.index), gpu.uuid, gpu.address, gpu.name,
                       known_profiles(**control, gpu)});
  return devices;
}

// That this process may use.
int cpus_here() {
  const long online = ::sysconf(_SC_NPROCESSORS_CONF);
  return online > 0 ? static_cast<int>(online) : 1;
}

}  // namespace

plan::Known known_here(bool devices) {
  plan::Known known;
  known.listener_problem = [](std::string_view word) {
    // radT has profilers among its listeners, and so has `corral run`.
    const auto split = run::split_profilers(word);
    if (split.first.empty() && !split.second.empty()) return std::string();
    const auto selected = collect::select_listeners(word);
    return selected ? std::string() : selected.error().message;
  };
  known.environment_problem = [](std::string_view text) {
    const auto spec = environment::parse(text);
    return spec ? std::string() : spec.error().message;
  };
  known.variable_problem = run_variable_problem;
  known.exists = [](const plan::fs::path& path) {
    std::error_code error;
    return plan::fs::exists(path, error);
  };
  known.executable = [](const plan::fs::path& path) {
    std::error_code error;
    return plan::fs::is_regular_file(path, error) && ::access(path.c_str(), X_OK) == 0;
  };
  known.names_in = [](const plan::fs::path& path) { return sys::list_directory(path); };
  known.path = variable("PATH");
  known.cpus = cpus_here();
  if (devices) known.devices = devices_here();
  return known;
}

}  // namespace corral::cli
