// The rings of samples that the fake driver keeps: what a timeline says, at steady times.
//
// `key` (gpu0.ring.0) is what is sampled; key.period is the time between two samples (s, 0.02),
// key.room how many are kept (120), key.type the type of their values (ValueType; 32 bits). "utc"
// is how far the wall clock was put, in s. Allocates nothing.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <span>
#include <string_view>

#include "collect/nvidia/fake/timeline.h"
#include "collect/nvidia/nvml_types.h"

namespace corral::collect::nvidia::fake {

class Ring {
 public:
  // `began` is UTC (s) at the timeline's 0.
  Ring(const Timeline& timeline, std::string_view key, double began)
      : timeline_(timeline), key_(key), began_(began) {}

  [[nodiscard]] double utc(double time) const {
    const Value* put = timeline_.find("utc", time);
    return began_ + time + (put != nullptr ? put->number : 0);
  }
  [[nodiscard]] unsigned room(double now) const {
    return static_cast<unsigned>(part("room", now, 120));
  }
  [[nodiscard]] ValueType type(double now) const {
    return static_cast<ValueType>(part("type", now, 1));
  }
  // The oldest of those after `since_us` that there are at `now`, as many as fit; how many there
  // are.
  unsigned copy(double now, std::uint64_t since_us, std::span<Sample> out) const {
    const double period = part("period", now, 0.02);
    const auto newest = static_cast<std::int64_t>(std::floor(now / period + 1e-6));
    unsigned found = 0;
    for (auto n = std::max<std::int64_t>(0, newest - room(now) + 1); n <= newest; ++n) {
      const double time = static_cast<double>(n) * period;
      const Value* value = timeline_.find(key_, time);
      const auto stamp = static_cast<std::uint64_t>(std::llround(utc(time) * 1e6));
      if (value == nullptr || value->status != Status::kSuccess || stamp <= since_us) continue;
      if (found < out.size()) out[found] = sample(stamp, value->at(time), type(now));
      ++found;
    }
    return found;
  }

 private:
  [[nodiscard]] double part(const char* name, double time, double otherwise) const {
    std::array<char, 64> key{};
    const int size = std::snprintf(key.data(), key.size(), "%.*s.%s", static_cast<int>(key_.size()),
                                   key_.data(), name);
    const Value* value = timeline_.find({key.data(), static_cast<std::size_t>(size)}, time);
    return value != nullptr ? value->number : otherwise;
  }
  static Sample sample(std::uint64_t stamp, double number, ValueType type) {
    Sample sample{.time_us = stamp, .value = {}};
    const auto wide = static_cast<std::uint64_t>(number);
    const auto narrow = static_cast<std::uint32_t>(number);
    if (type == ValueType::kDouble) std::memcpy(sample.value, &number, sizeof number);
    if (type == ValueType::kUint64) std::memcpy(sample.value, &wide, sizeof wide);
    if (type == ValueType::kUint32) std::memcpy(sample.value, &narrow, sizeof narrow);
    return sample;
  }

  const Timeline& timeline_;
  std::string_view key_;
  double began_;
};

}  // namespace corral::collect::nvidia::fake
