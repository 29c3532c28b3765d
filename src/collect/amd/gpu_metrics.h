// The binary table gpu_metrics of the amdgpu driver, versioned, as large as its header
// says. Dedicated GPUs have format 1; those of processors (formats 2 and 3) keep no energy counter
// and are not read.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

namespace corral::collect::amd {

// The time that each limit held the clocks down, in steps of the firmware that `steps` counts; all
// wrap at 32 bits. MI300 and later.
inline constexpr std::uint32_t kNotCounted = 0xFFFFFFFF;  // marks a limit
struct Residencies {
  std::uint64_t time_ns = 0;  // when the table was filled, on a clock of its own
  std::uint32_t steps = 0;
  std::uint32_t processor_hot = 0, power = 0, socket_thermal = 0, regulator_thermal = 0,
                memory_thermal = 0;
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

}  // namespace corral::collect::amd
