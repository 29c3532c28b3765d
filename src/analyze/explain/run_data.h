// RunData: what a run's metrics were over a window: the means that verdicts are reached from.
//
// Means are over time; those of counters are rates per second. Metrics of the host are those of the
// run's host. Long windows are taken from the store's pyramids. Sources: the store, one snapshot
// for each 64 series. Constant; any thread.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analyze/explain/leaves.h"
#include "core/result.h"
#include "store/reader.h"

namespace corral::analyze {

struct MetricMean {
  std::string metric, source;
  std::string unit;  // "B/s", "cores"
  double mean = 0;
  double least = 0, most = 0;  // single points
  std::uint64_t points = 0;
};

// The unit of a series' means: that of its rate for a counter that Corral knows.
std::string unit_of_mean(const store::Series& series);

class RunData {
 public:
  // Fewer finite points in the window are none: a mean of them says little.
  static constexpr std::uint64_t kLeastPoints = 3;

  RunData() = default;
  // `unavailable`: metrics, or groups of them, with the reason.
  explicit RunData(std::vector<MetricMean> means,
                   std::vector<std::pair<std::string, std::string>> unavailable = {});
  // Those of `metrics` that the run has.
  static Result<RunData> read(const store::Reader& store, const store::Run& run, Window window,
                              std::span<const std::string_view> metrics);

  // By source.
  [[nodiscard]] std::span<const MetricMean> all_of(std::string_view metric) const;
  // The source with the greatest mean; null: the run has none.
  [[nodiscard]] const MetricMean* greatest(std::string_view metric) const;
  [[nodiscard]] const MetricMean* of_source(std::string_view metric, std::string_view source) const;
  // The run said that it could not record it.
  [[nodiscard]] bool is_unavailable(std::string_view metric) const;
  // Why there is no mean: too few points, what the run said when it recorded, or no points.
  [[nodiscard]] std::string why_not(std::string_view metric) const;

 private:
  [[nodiscard]] const std::string* reason_of(std::string_view metric) const;

  std::vector<MetricMean> means_;  // by metric, then source
  std::vector<std::pair<std::string, std::string>> unavailable_;
  // Metrics with fewer points than kLeastPoints, but some: those of the source with most.
  std::map<std::string, std::uint64_t, std::less<>> few_;
};

// CPUs that the run may use; empty: it was not recorded.
std::vector<int> allowed_cpus(const store::Run& run);
// Facts of a run: "device.eth0.link_bytes_per_second".
inline constexpr std::string_view kLinkFact = "link_bytes_per_second";
inline constexpr std::string_view kPcieFact = "pcie_bytes_per_second";
// Bytes per second in each direction, by source of the run's metrics: of network interfaces, and of
// GPUs' PCIe links. Those that were recorded.
std::map<std::string, double, std::less<>> link_speeds(const store::Run& run);

}  // namespace corral::analyze
