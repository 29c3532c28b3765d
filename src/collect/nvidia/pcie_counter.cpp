#include "collect/nvidia/pcie_counter.h"

#include <algorithm>
#include <array>
#include <utility>

namespace corral::collect::nvidia {
namespace {

constexpr double kModulus = 4294967296.0;

}  // namespace

Nanos PcieCounter::shortest_wrap(const Nvml& nvml, Device device) {
  // Bytes per second of a lane and direction, by generation.
  constexpr std::array<double, 6> kLane{250e6, 500e6, 985e6, 1969e6, 3938e6, 7563e6};
  unsigned generation = 0;
  unsigned width = 0;
  if (nvml.call().link_generation(device, &generation) != Status::kSuccess || generation == 0)
    generation = kLane.size();
  if (nvml.call().link_width(device, &width) != Status::kSuccess || width == 0) width = 16;
  const double rate = kLane[std::min<std::size_t>(generation, kLane.size()) - 1] * width;
  return Nanos(static_cast<std::int64_t>(kModulus / rate * 1e9));
}

bool PcieCounter::is_narrow(ValueType type) {
  return type == ValueType::kUint32 || type == ValueType::kInt32 || type == ValueType::kUint16;
}

PcieCounter::Outcome PcieCounter::add(BootTime now, double raw) {
  if (wraps_) return Outcome::kWraps;
  const bool first = !std::exchange(begun_, true);
  const Nanos passed = now - std::exchange(last_time_, now);
  const double grown = raw - std::exchange(last_, raw);
  if (!narrow_) {
    // A fall from beyond 32 bits is a reset.
    wraps_ = !first && grown < 0 && raw - grown < kModulus;
    total_ = raw;
    return wraps_ ? Outcome::kWraps : Outcome::kCounted;
  }
  if (first) {
    total_ = raw;
  } else if (passed >= shortest_wrap_) {
    total_ = 0;
    return Outcome::kTooLate;
  } else {
    total_ += grown < 0 ? grown + kModulus : grown;
  }
  return Outcome::kCounted;
}

}  // namespace corral::collect::nvidia
