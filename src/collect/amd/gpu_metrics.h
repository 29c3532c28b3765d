// The binary table gpu_metrics of the amdgpu driver, versioned, as large as its header
// says. Dedicated GPUs have format 1; those of processors (formats 2 and 3) keep no energy counter
// and are not read.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace corral::collect::amd {

// The limits that can hold the clocks down, in the order of the driver's counts, by their metrics.
inline constexpr auto kLimitMetrics = std::to_array<std::string_view>({
    "host.gpu.throttle.hardware_thermal",
    "host.gpu.throttle.power",
    "host.gpu.throttle.thermal",
    "host.gpu.throttle.regulator_thermal",
    "host.gpu.throttle.memory_thermal",
});
// The time that each limit held the clocks down, in steps of the firmware that `steps` counts; all
// wrap at 32 bits. MI300 and later.
struct Residencies {
  std::uint64_t time_ns = 0;  // when the table was filled, on a clock of its own
  std::uint32_t steps = 0;
  std::array<std::uint32_t, kLimitMetrics.size()>
      limits{};  // kNotCounted: the limit is not counted
};
inline constexpr std::uint32_t kNotCounted = 0xFFFFFFFF;

// The seconds for which each limit held a GPU's clocks down, added up from its firmware's counters:
// of the steps between two tables, the share that a limit took. Counts that went back (a reset)
// start again. One thread.
class ThrottleTimes {
 public:
  void add(const Residencies& now);
  // By limit, since the first table.
  [[nodiscard]] const std::array<double, kLimitMetrics.size()>& seconds() const { return seconds_; }

 private:
  std::optional<Residencies> last_;
  std::array<double, kLimitMetrics.size()> seconds_{};
};

struct GpuMetrics {
  std::optional<double> energy;             // J since the driver was loaded
  std::optional<double> power;              // W
  std::optional<double> busy, memory_busy;  // share
  std::optional<Residencies> residencies;
};
// Nothing for a revision that is not known, and for a table that is cut off. Values that the driver
// marks as invalid (all bits set) are missing.
std::optional<GpuMetrics> parse_gpu_metrics(std::span<const char> table);

// Statuses of amdsmi, AMD's management library.
enum class SmiStatus : std::uint32_t {
  kSuccess = 0,
  kNotSupported = 2,
  kFailedSymbol = 5,
  kNoPermission = 10,
};

}  // namespace corral::collect::amd
