// CPU sets of a workload's runs: the CPUs of each run, and the rest for Corral's own processes.
// Pure.
//
// A run that asks for a number of CPUs has their cores alone: no other run gets a thread of them
// (unless both split siblings and cores are short, which a note says). The core of CPU 0, which
// often handles interrupts, is given last.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "collocate/topology.h"
#include "core/result.h"

namespace corral::collocate {

struct CpuWish {
  std::vector<int> exact;    // exactly these, which other runs may name as well
  std::optional<int> count;  // or this number of CPUs of its own
  bool split = false;        // count: one thread of each core
  std::optional<int> node;   // from this NUMA node only
  std::vector<int> near;     // preferred CPUs: near the run's devices

  [[nodiscard]] bool any() const { return !exact.empty() || count || node; }
};

struct CpuSets {
  std::vector<std::vector<int>> of_run;  // all empty: no run has a wish
  std::vector<int> housekeeping;         // empty: none is left, or no run has a wish
  std::vector<std::string> notes;
};

// The error names every wish that cannot be met ("run 0: …"), a line each.
Result<CpuSets> allocate_cpus(const Topology& topology, std::span<const CpuWish> wishes);

}  // namespace corral::collocate
