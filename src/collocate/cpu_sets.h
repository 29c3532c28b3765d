// CPUs: lists as the kernel writes them; this machine's topology; the sets of a workload's runs,
// and the rest for Corral's own processes. All but Topology::read() and cpus_near() is pure.
//
// A run that asks for a number of CPUs has their cores alone: no other run gets a thread of them
// (unless both split siblings and cores are short, which a note says). The core of CPU 0, which
// often handles interrupts, is given last.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "sys/file.h"

namespace corral::collocate {

namespace fs = std::filesystem;

// ---- topology: cores with their threads (SMT siblings) and NUMA nodes, from /sys under an
// injected root. Only CPUs that are online and allowed by this process's cpuset count.

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

// ---- sets

struct CpuRequest {
  std::vector<int> exact;    // exactly these, which other runs may name as well
  std::optional<int> count;  // or this number of CPUs of its own
  bool split = false;        // count: one thread of each core
  std::optional<int> node;   // from this NUMA node only
  std::vector<int> near;     // preferred CPUs: near the run's devices

  [[nodiscard]] bool any() const { return !exact.empty() || count || node; }
};

struct CpuSets {
  std::vector<std::vector<int>> of_run;  // all empty: no run has a request
  std::vector<int> housekeeping;         // empty: none is left, or no run has a request
  std::vector<std::string> notes;
};

// The error names every request that cannot be met ("run 0: …"), a line each.
Result<CpuSets> allocate_cpus(const Topology& topology, std::span<const CpuRequest> requests);

}  // namespace corral::collocate
