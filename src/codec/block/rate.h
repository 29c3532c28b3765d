// The rate of a counter between consecutive samples of one session: the one definition that sealing
// (the rate channel of the pyramid) and charts share.
//
// A counter that goes down was reset, and there is no rate across that, or it ran over its end:
// from the last sixteenth below 2^32 or 2^64 to so little beyond it that both sides together are at
// most a sixteenth of the modulus, in whole numbers. Samples that are not finite are ignored.
// Pure, any thread.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>

namespace corral::codec {

inline constexpr double kNoRate = std::numeric_limits<double>::quiet_NaN();

// From `before` to `now`, both finite; NaN where the counter was reset.
inline double counter_difference(double before, double now) {
  if (now >= before) return now - before;
  if (now < 0 || std::floor(now) != now || std::floor(before) != before) return kNoRate;
  for (const double modulus : {0x1p32, 0x1p64}) {
    if (before > modulus) continue;
    const double difference = (modulus - before) + now;
    return difference <= modulus / 16 ? difference : kNoRate;
  }
  return kNoRate;
}

struct CounterSample {
  std::int64_t time = 0;  // ns
  double value = 0;
};

// Per second, at the later one; NaN: there is none.
inline double counter_rate(const CounterSample& before, const CounterSample& now) {
  if (now.time <= before.time) return kNoRate;
  const std::uint64_t ns =
      static_cast<std::uint64_t>(now.time) - static_cast<std::uint64_t>(before.time);
  const double rate =
      counter_difference(before.value, now.value) / (static_cast<double>(ns) * 1e-9);
  return std::isfinite(rate) ? rate : kNoRate;
}

// The samples of one session in their order.
class CounterRates {
 public:
  double next(std::int64_t time, double value) {
    if (!std::isfinite(value)) return kNoRate;
    const CounterSample now{.time = time, .value = value};
    const double rate = before_ ? counter_rate(*before_, now) : kNoRate;
    before_ = now;
    return rate;
  }
  [[nodiscard]] const std::optional<CounterSample>& before() const { return before_; }
  void start_after(std::optional<CounterSample> before) { before_ = before; }

 private:
  std::optional<CounterSample> before_;
};

}  // namespace corral::codec
