// Share: what one run of a plan gets of the machine, and how: its devices, its way of sharing them,
// its CPUs, its limits. It holds the values of one row of an experiment file; nothing here touches
// anything.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace corral::plan {

enum class Sharing {
  kNone,         // "-": the device as it is; several rows on it share it by time slicing
  kTimeSlicing,  // said outright: "naive", "timeslicing"
  kMps,          // NVIDIA's Multi-Process Service, a daemon of the workload's own for each device
  kMig,          // an instance of `profile`
};

enum class CacheState { kAsIs, kCold, kWarm };  // state of the host's page cache, before the start

struct Share {
  std::vector<std::string> devices;  // index, UUID or PCI address, as written; "0+1" is two
  Sharing sharing = Sharing::kNone;
  std::string profile;  // kMig: as the driver names it, "3g.20gb"
  // kMps, each only where a row says so.
  std::optional<int> mps_threads_percent;        // 1 to 100
  std::optional<std::int64_t> mps_memory_bytes;  // on each device
  std::optional<int> mps_priority;               // 0 normal, 1 below normal
  // CPUs.
  std::vector<int> cpus;  // exactly these, ascending; empty: any, unless cpu_count
  std::optional<int>
      cpu_count;  // number of CPUs that no other run of the workload has; SMT siblings together
  bool split_siblings = false;      // cpu_count: one thread of each core
  std::optional<int> numa_node;     // cpu_count and memory from this node
  std::optional<double> cpu_quota;  // CPUs' worth of time, 1.5
  std::optional<std::int64_t> memory_bytes;
  std::optional<int> io_weight;  // 1 to 1000
  // Factors of an experiment: of the workload's devices and host.
  std::optional<int> sm_clock_mhz;
  std::optional<int> memory_clock_mhz;
  std::optional<double> power_watts;
  CacheState cache = CacheState::kAsIs;

  bool operator==(const Share&) const = default;
};

}  // namespace corral::plan
