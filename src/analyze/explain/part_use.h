// Use of hardware while all training lanes of a run were in one part of it, such as its waits.
//
// A sample counts if it lies wholly in one stretch of the part: a GPU's activity over half a second
// tells nothing about waits of 50 ms within it. So it is known only if the usual sample is at most
// half as long as the usual stretch. Units: the metric's. Pure, but for the reading of samples from
// the store, one snapshot for each series. Any thread.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analyze/explain/attribution.h"
#include "analyze/explain/device_time.h"
#include "analyze/explain/leaves.h"
#include "analyze/left.h"
#include "core/result.h"
#include "store/reader.h"

namespace corral::analyze {

// The phases that have the time.
enum class BoundPart : std::uint8_t { kWork, kWait, kRanks, kIo, kEvaluation };
// `type`: the path of names.
BoundPart part_of(std::string_view type, codec::PhaseKind kind);

// The same of a timeline's phases, of which each text is looked at once.
class PartsOfPhases {
 public:
  explicit PartsOfPhases(const Timeline& timeline) : timeline_(timeline) {}
  // nullptr: in no phase, which is work.
  BoundPart of(const TimelinePhase* phase);

 private:
  const Timeline& timeline_;
  std::map<std::pair<TextNumber, codec::PhaseKind>, BoundPart> known_;
};

// A GPU is idle below this activity.
inline constexpr double kIdleUse = 0.05;

struct PartUse {
  std::string metric;  // empty: a trace's kernels and copies, as the share with one
  std::string source;
  double mean = 0;
  double idle = 0;            // share of the samples below kIdleUse; in a trace: of the time
  std::uint64_t samples = 0;  // that lie wholly in the part; of a trace: stretches
  std::string reason;         // why it is not known; empty: it is
  [[nodiscard]] bool is_known() const { return reason.empty(); }
};

// Stretches of the window in which all of the lanes, numbers in the timeline, are in the part;
// ascending.
std::vector<Window> find_stretches(const Timeline& timeline, std::span<const std::size_t> lanes,
                                   Window window, BoundPart part);

// `stretches` ascend; values that are not finite are left out.
PartUse measure_use(std::span<const Window> stretches, std::span<const UseSample> samples);

// For each device that was traced in three stretches or more.
std::vector<PartUse> trace_use(const DeviceRecord& record, std::span<const Window> stretches);

struct PartUseReading {
  std::span<const std::string_view> metrics;
  const Left& left;
};
// For each of the run's series of the metrics; those of the host are the run's host's.
Result<std::vector<PartUse>> read_part_use(const store::Reader& store, const store::Run& run,
                                           std::span<const Window> stretches,
                                           const PartUseReading& reading);

}  // namespace corral::analyze
