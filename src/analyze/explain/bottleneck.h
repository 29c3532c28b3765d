// Bottleneck: what bounded the steps of a run's steady part, and what would help.
//
// First where: a wait, a call between ranks, I/O or an evaluation that takes a fifth of the time or
// more, else the steps' own work. Then which resource, by rules in a fixed order; each needs the
// counters that prove it. A rule without its counters is listed, and where none holds the resource
// is unknown. docs/analysis.md gives the rules. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analyze/explain/device_time.h"
#include "analyze/explain/leaves.h"
#include "analyze/explain/part_use.h"
#include "analyze/explain/run_data.h"

namespace corral::analyze {

enum class Resource : std::uint8_t {
  kUnknown,
  kCpuQuota,
  kMemoryLimit,
  kSwap,
  kDisk,
  kNetwork,
  kSteal,
  kCollector,      // Corral itself
  kOtherPrograms,  // on the same CPUs
  kOthersOnGpu,
  kGpuClocks,
  kGpuMemory,  // its bandwidth
  kGpuCores,
  kPcie,
  kNvlink,
  kLaunches,  // by the CPU, of a GPU's work
  kTurns,     // threads that wait for each other
  kLoaders,   // CPU time of processes that load the data
  kCpus,      // all that are allowed
  kOneThread
};

// A rule that could not be applied.
struct Unproven {
  Resource resource = Resource::kUnknown;
  std::string metric, reason;
};

struct Bottleneck {
  BoundPart part = BoundPart::kWork;
  std::string phase;  // the greatest leaf of the part: "data wait"; empty: the steps' own work
  double share = 0;   // 0 to 1
  Resource resource = Resource::kUnknown;
  std::string text;                  // one sentence
  std::string hint;                  // empty: nothing is known to help
  std::vector<MetricMean> evidence;  // means over the window that the resource follows from
  std::vector<Unproven> unproven;    // rules before the one that held
};

struct GivenToRun {
  std::vector<int> cpus = {};  // that its affinity allows; empty: not known
  bool steady = true;          // the lanes' time is its steady part
  Unit unit = Unit::kStep;     // repeated by the training
  // Bytes per second in each direction: of network interfaces, and of GPUs' PCIe links.
  std::map<std::string, double, std::less<>> links = {};
};

// Use of hardware that the means do not show.
struct SeenUse {
  std::vector<PartUse> in_part = {};     // while the training lanes were in bound_part()
  std::vector<DeviceTime> devices = {};  // that traces show
};

// Every metric that the rules read.
std::span<const std::string_view> bottleneck_metrics();

// The part that bounds, as if no GPU hid a wait.
BoundPart bound_part(std::span<const LaneLeaves> lanes);
// The metrics to read for `SeenUse::in_part`; empty: nothing would be used.
std::vector<std::string_view> part_metrics(BoundPart part, const RunData& data,
                                           const GivenToRun& given);

// `lanes`: leaves over the steady part, as is `data`. nullopt: no lane trains.
std::optional<Bottleneck> find_bottleneck(std::span<const LaneLeaves> lanes, const RunData& data,
                                          const GivenToRun& given, const SeenUse& seen = {});

// The process of a lane "host/4711/MainThread"; nullopt: it names none.
std::optional<double> process_of_lane(std::string_view lane);

std::string_view bound_part_name(BoundPart part);
std::string_view resource_name(Resource resource);

}  // namespace corral::analyze
