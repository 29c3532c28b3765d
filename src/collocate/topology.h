// Topology: this machine's CPUs as cores with their threads (SMT siblings) and NUMA nodes, from
// /sys under an injected root. Only CPUs that are online and allowed by this process's cpuset
// count.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/result.h"
#include "sys/file.h"

namespace corral::collocate {

namespace fs = std::filesystem;

struct Core {
  int node = 0;
  std::vector<int> cpus;  // its threads, ascending, at least one
};

struct Topology {
  std::vector<Core> cores;  // by their first CPU
  std::vector<int> cpus;    // all of them, ascending
  std::vector<int> nodes;   // nodes with CPUs or memory, ascending

  static Result<Topology> read(const fs::path& root);
  [[nodiscard]] bool has(int cpu) const;
  [[nodiscard]] bool has_node(int node) const;
};

// Returns the CPUs near a PCI device ("0000:65:00.0"); empty if unknown.
std::vector<int> cpus_near(const fs::path& root, const std::string& address);

}  // namespace corral::collocate
