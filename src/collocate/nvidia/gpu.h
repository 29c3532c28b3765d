// The GPUs of this machine, by the names that people give them, and their users.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "collocate/nvidia/control.h"

namespace corral::collocate::nvidia {

struct Gpu {
  Device handle = nullptr;
  unsigned index = 0;  // as NVML counts: by PCI address
  std::string uuid;    // "GPU-…"
  std::string name;
  std::string address;  // "0000:65:00.0"

  [[nodiscard]] std::string words() const { return "GPU " + std::to_string(index); }
  [[nodiscard]] std::string long_words() const { return words() + " (" + name + ")"; }
};

// Those that cannot be asked (lost) are left out.
Result<std::vector<Gpu>> find_gpus(const Control& control);
// By index, UUID or the beginning of one, or PCI address, as written; null when none or several.
const Gpu* find_gpu(const std::vector<Gpu>& gpus, std::string_view written);
// kNotFound when it is gone. Handles do not outlive a change of MIG mode; UUIDs do.
Result<Gpu> gpu_of(const Control& control, std::string_view uuid);

// Processes with a context on a GPU or MIG device, MPS clients among them, ascending; empty when
// the driver does not say.
std::vector<unsigned> processes_on(const Control& control, Device device);
// "4711 (python3), 4712"
std::string words_of_processes(const std::vector<unsigned>& pids);

}  // namespace corral::collocate::nvidia
