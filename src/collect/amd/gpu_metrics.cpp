#include "collect/amd/gpu_metrics.h"

#include <array>
#include <cstring>
#include <limits>
#include <utility>

namespace corral::collect::amd {
namespace {

// The offsets at which a revision of format 1 keeps the fields that are read.
struct Layout {
  std::uint8_t content;
  std::size_t power, busy, memory_busy, energy;
  std::size_t residencies = 0;  // the clock, then the count of steps and the limits; 0: none
};
constexpr auto kLayouts = std::to_array<Layout>({
    {.content = 1, .power = 22, .busy = 16, .memory_busy = 18, .energy = 24},
    {.content = 2, .power = 22, .busy = 16, .memory_busy = 18, .energy = 24},
    {.content = 3, .power = 22, .busy = 16, .memory_busy = 18, .energy = 24},
    {.content = 4, .power = 10, .busy = 12, .memory_busy = 14, .energy = 24},
    {.content = 5, .power = 10, .busy = 12, .memory_busy = 14, .energy = 88},
    {.content = 6, .power = 10, .busy = 12, .memory_busy = 14, .energy = 16, .residencies = 24},
    {.content = 7, .power = 10, .busy = 12, .memory_busy = 14, .energy = 24, .residencies = 32},
    {.content = 8, .power = 10, .busy = 12, .memory_busy = 14, .energy = 24, .residencies = 32},
});

constexpr double kJoules = 1.0 / 65536;  // one step of the accumulator: 2^-16 J
constexpr double kPercent = 0.01;

template <class T>
std::optional<double> field(std::span<const char> table, std::size_t offset, double scale) {
  T value{};
  if (offset + sizeof value > table.size()) return std::nullopt;
  std::memcpy(&value, table.data() + offset, sizeof value);
  if (value == std::numeric_limits<T>::max()) return std::nullopt;
  return static_cast<double>(value) * scale;
}

std::optional<Residencies> residencies(std::span<const char> table, std::size_t offset) {
  Residencies r;
  const std::size_t steps = offset + sizeof r.time_ns;
  const std::size_t limits = steps + sizeof r.steps;
  if (offset == 0 || limits + sizeof r.limits > table.size()) return std::nullopt;
  std::memcpy(&r.time_ns, table.data() + offset, sizeof r.time_ns);
  std::memcpy(&r.steps, table.data() + steps, sizeof r.steps);
  std::memcpy(r.limits.data(), table.data() + limits, sizeof r.limits);
  if (r.steps == std::numeric_limits<std::uint32_t>::max()) return std::nullopt;
  return r;
}

}  // namespace

void ThrottleTimes::add(const Residencies& now) {
  constexpr double kNano = 1e-9;
  constexpr std::uint32_t kMostSteps = 1U << 31U;  // more than these is a count that went back
  const auto last = std::exchange(last_, now);
  if (!last || now.time_ns <= last->time_ns) return;
  const std::uint32_t steps = now.steps - last->steps;  // modulo 2^32, as the counts
  if (steps == 0 || steps > kMostSteps) return;
  const double passed = static_cast<double>(now.time_ns - last->time_ns) * kNano;
  for (std::size_t i = 0; i < seconds_.size(); ++i) {
    const std::uint32_t taken = now.limits[i] - last->limits[i];
    if (taken <= steps) seconds_[i] += passed * taken / steps;
  }
}

std::optional<GpuMetrics> parse_gpu_metrics(std::span<const char> table) {
  constexpr std::size_t kHeader = 4;
  if (table.size() < kHeader) return std::nullopt;
  std::uint16_t size = 0;
  std::memcpy(&size, table.data(), sizeof size);
  const auto format = static_cast<std::uint8_t>(table[2]);
  const auto content = static_cast<std::uint8_t>(table[3]);
  if (format != 1 || size < kHeader || size > table.size()) return std::nullopt;
  table = table.first(size);
  for (const Layout& layout : kLayouts) {
    if (layout.content != content) continue;
    GpuMetrics metrics{.energy = field<std::uint64_t>(table, layout.energy, kJoules),
                       .power = field<std::uint16_t>(table, layout.power, 1),
                       .busy = field<std::uint16_t>(table, layout.busy, kPercent),
                       .memory_busy = field<std::uint16_t>(table, layout.memory_busy, kPercent),
                       .residencies = residencies(table, layout.residencies)};
    if (metrics.energy == 0.0) metrics.energy.reset();  // a GPU that does not count
    return metrics;
  }
  return std::nullopt;
}

}  // namespace corral::collect::amd
