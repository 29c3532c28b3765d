// GPU: the GPUs of this machine, by the names that users give them, and the processes on them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "collocate/nvidia/control.h"

namespace corral::collocate::nvidia {

struct Gpu {
  Device handle = nullptr;
  unsigned index = 0;  // NVML's index, by PCI address
  std::string uuid;    // "GPU-…"
  std::string name;
  std::string address;  // "0000:65:00.0"

  [[nodiscard]] std::string words() const { return "GPU " + std::to_string(index); }
  [[nodiscard]] std::string long_words() const { return words() + " (" + name + ")"; }
};

// Returns all GPUs without those that do not answer (lost).
Result<std::vector<Gpu>> find_gpus(const Control& control);
// Finds a GPU by index, UUID or the beginning of one, or PCI address, as written; null if there is
// none or several.
const Gpu* find_gpu(const std::vector<Gpu>& gpus, std::string_view written);
// Finds a GPU by its UUID; kNotFound if it is gone. Handles do not outlive a change of MIG mode;
// UUIDs do.
Result<Gpu> find_gpu_by_uuid(const Control& control, std::string_view uuid);

// Returns the processes with a context on a GPU or MIG device, including MPS clients, ascending;
// empty if the driver does not report them.
std::vector<unsigned> processes_on(const Control& control, Device device);
// "4711 (python3), 4712"
std::string process_list(const std::vector<unsigned>& pids);

}  // namespace corral::collocate::nvidia
