// Attribution of one of a run's metrics to its phases, from a store: the points of the metric over
// the steady part, and the leaves of all lanes of its host.
//
// A sample is the mean since the sample before: of a counter its rate; of a gauge the value is
// taken for it. Samples after a gap of three usual intervals are left out. A capacity is known of
// shares (1), threads and single CPUs (1), and of CPU time of a run or host. A GPU's use and power,
// and energy, go to steps and epochs only: the phases of a thread inside of a step say when work
// was started. Sources: the store, one snapshot for the phases and one for the points. Any thread.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analyze/explain/attribution.h"
#include "analyze/left.h"
#include "core/result.h"
#include "store/reader.h"

namespace corral::analyze {

// More points are not attributed: 24 bytes each are held.
inline constexpr std::size_t kMostSamples = 1'000'000;

struct MetricOptions {
  std::string metric;
  std::string source = {};  // may be left out if there is one
  // Default: the steady part; bounded by the run's time.
  std::optional<UtcTime> from = {}, to = {};
  std::string lane = {};  // only this one; empty: all of the metric's host
  Left left = {};
};

struct MetricAttribution {
  std::string metric, source, unit;
  Window window;
  Grain grain = Grain::kLeaves;
  std::vector<std::string> notes;  // sentences that limit what is said
  Attribution found;
};

// Each point of the window with the time since the point of its session before it; those after a
// gap are left out. Sessions that measure one host overlap. kTooLarge: more than kMostSamples.
Result<std::vector<UseSample>> read_use_samples(const store::Reader& store,
                                                const store::Series& series, Window window,
                                                const Left& left);

// kNotFound: the metric, its source or the lane; kInvalidArgument: several sources, or an empty
// window; kTooLarge: too many phases or points.
Result<MetricAttribution> attribute_metric(const store::Reader& store, const store::Run& run,
                                           const MetricOptions& options);

}  // namespace corral::analyze
