// One call of the fake: the state under its lock, the GPU's model, the requested refusals;
// and the objects behind the driver's handles.
#pragma once

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "collocate/nvidia/control_types.h"
#include "collocate/nvidia/fake/models.h"
#include "collocate/nvidia/fake/state.h"

namespace corral::collect::nvidia {
struct DeviceObject {
  unsigned gpu = 0;
  long gi = -1;  // GPU instance of a MIG device
  long ci = -1;
};
}  // namespace corral::collect::nvidia

namespace corral::collocate::nvidia {

struct GpuInstanceObject {
  unsigned gpu = 0;
  long id = 0;
};
struct ComputeInstanceObject {
  unsigned gpu = 0;
  long gi = 0;
  long id = 0;
};

namespace fake {

using collect::nvidia::Clock;
using collect::nvidia::DeviceObject;
using collect::nvidia::kMemoryV2Version;
using collect::nvidia::MemoryV2;
using collect::nvidia::Utilization;

constexpr unsigned kMostGpus = 16;
constexpr unsigned kMostInstances = 7;
inline int users = 0;  // users of the library: initialisations without a shutdown

// Handles stay valid addresses for ever, but stand for an object only as long as the state has it.
template <class Object>
Object* handle(const std::array<long, 3>& key, const Object& object) {
  static std::map<std::array<long, 3>, Object> all;
  return &all.emplace(key, object).first->second;
}
inline Device device_handle(unsigned gpu, long gi, long ci) {
  return handle<DeviceObject>({long{gpu}, gi, ci}, {gpu, gi, ci});
}
inline GpuInstance instance_handle(unsigned gpu, long id) {
  return handle<GpuInstanceObject>({long{gpu}, id, 0}, {gpu, id});
}
inline ComputeInstance compute_handle(unsigned gpu, long gi, long id) {
  return handle<ComputeInstanceObject>({long{gpu}, gi, id}, {gpu, gi, id});
}

inline std::string key(unsigned gpu, const std::string& name) {
  return "gpu" + std::to_string(gpu) + "." + name;
}
inline std::string gi_key(unsigned gpu, long gi) { return key(gpu, "gi." + std::to_string(gi)); }
inline std::string ci_key(unsigned gpu, long gi, long ci) {
  return key(gpu, "ci." + std::to_string(gi) + "." + std::to_string(ci));
}

// Holds the state, under its lock, for the duration of one call.
struct Call {
  explicit Call(const char* function) {
    status = users == 0 ? Status::kUninitialized
                        : static_cast<Status>(state.number(std::string("refuse.") + function));
    model = find_model(state.text("model", "a100-40"));
    if (model == nullptr) status = Status::kDriverNotLoaded;
  }
  Call(const char* function, Device device) : Call(function) {
    if (status == Status::kSuccess && device == nullptr) status = Status::kInvalidArgument;
  }
  Call(const char* function, GpuInstance instance) : Call(function) {
    if (status != Status::kSuccess) return;
    if (instance == nullptr || !state.has(gi_key(instance->gpu, instance->id)))
      status = Status::kInvalidArgument;
  }
  [[nodiscard]] bool failed() const { return status != Status::kSuccess; }

  // Returns a profile by NVML's number.
  [[nodiscard]] const ModelProfile* profile(unsigned number) const {
    for (const ModelProfile& p : model->profiles)
      if (p.number == number) return &p;
    return nullptr;
  }
  [[nodiscard]] const ModelProfile* profile_with(unsigned id) const {
    for (const ModelProfile& p : model->profiles)
      if (p.id == id) return &p;
    return nullptr;
  }
  [[nodiscard]] bool mig(unsigned gpu) const { return state.number(key(gpu, "mig")) != 0; }

  struct Occupant {
    long id = 0;
    unsigned profile = 0;
    Placement at{};
  };
  [[nodiscard]] std::vector<Occupant> occupants(unsigned gpu) const {
    std::vector<Occupant> found;
    const std::string prefix = key(gpu, "gi.");
    for (const auto& [name, value] : state.values()) {
      if (!name.starts_with(prefix)) continue;
      Occupant one{.id = std::stol(name.substr(prefix.size()))};
      std::sscanf(value.c_str(), "%u %u %u", &one.profile, &one.at.start, &one.at.size);
      found.push_back(one);
    }
    return found;
  }
  struct MigId {
    long gi = 0;
    long ci = 0;
    unsigned profile = 0;
  };
  [[nodiscard]] std::vector<MigId> computes(unsigned gpu) const {
    std::vector<MigId> found;
    const std::string prefix = key(gpu, "ci.");
    for (const auto& [name, value] : state.values()) {
      if (!name.starts_with(prefix)) continue;
      MigId one;
      std::sscanf(name.c_str() + prefix.size(), "%ld.%ld", &one.gi, &one.ci);
      one.profile = static_cast<unsigned>(std::stoul(value));
      found.push_back(one);
    }
    return found;
  }
  // Returns the PIDs on a whole GPU (gi < 0), a GPU instance (ci < 0) or a MIG device.
  [[nodiscard]] std::vector<unsigned> processes(unsigned gpu, long gi, long ci) const {
    std::vector<unsigned> found;
    const std::string prefix = key(gpu, "process.");
    for (const auto& [name, value] : state.values()) {
      if (!name.starts_with(prefix)) continue;
      long at_gi = -1;
      long at_ci = -1;
      std::sscanf(value.c_str(), "%ld.%ld", &at_gi, &at_ci);
      if ((gi >= 0 && at_gi != gi) || (ci >= 0 && at_ci != ci)) continue;
      found.push_back(static_cast<unsigned>(std::stoul(name.substr(prefix.size()))));
    }
    return found;
  }

  State state;
  const Model* model = nullptr;
  Status status = Status::kSuccess;
};

inline Status copy(const std::string& text, char* out, unsigned size) {
  if (text.size() + 1 > size) return Status::kInsufficientSize;
  std::memcpy(out, text.c_str(), text.size() + 1);
  return Status::kSuccess;
}

}  // namespace fake
}  // namespace corral::collocate::nvidia
