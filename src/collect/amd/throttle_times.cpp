#include "collect/amd/throttle_times.h"

#include <utility>

namespace corral::collect::amd {
namespace {

constexpr double kNano = 1e-9;
constexpr std::uint32_t kMostSteps = 1U << 31U;  // more than these is a count that went back

}  // namespace

void ThrottleTimes::add(const Residencies& now) {
  const auto last = std::exchange(last_, now);
  if (!last || now.time_ns <= last->time_ns) return;
  const std::uint32_t steps = now.steps - last->steps;  // modulo 2^32, as the counts
  if (steps == 0 || steps > kMostSteps) return;
  const double seconds = static_cast<double>(now.time_ns - last->time_ns) * kNano;
  const auto grow = [&](double& total, std::uint32_t Residencies::*count) {
    const std::uint32_t taken = now.*count - (*last).*count;
    if (taken <= steps) total += seconds * taken / steps;
  };
  grow(processor_hot, &Residencies::processor_hot);
  grow(power, &Residencies::power);
  grow(socket_thermal, &Residencies::socket_thermal);
  grow(regulator_thermal, &Residencies::regulator_thermal);
  grow(memory_thermal, &Residencies::memory_thermal);
}

}  // namespace corral::collect::amd
