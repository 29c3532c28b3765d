// The clock of points that carry a client's own times: MLflow's interface, `corral import`.
//
// A client's time is Unix milliseconds of any year; a frame carries CLOCK_BOOTTIME within 73 years
// of the boot. The sessions of such points "boot" in 2038, so that every time from 1965 to 2111
// fits. Pure.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "core/time.h"

namespace corral::mlflow {

// 2038-01-01T00:00:00Z.
inline constexpr ClockAnchor kClientAnchor{.utc_minus_boot = Nanos(2'145'916'800'000'000'000),
                                           .error = Nanos(0)};
// The first and the last millisecond that fit.
inline constexpr std::int64_t kFirstClientMs = -159'000'000'000;  // 1964-12-17T17:20Z
inline constexpr std::int64_t kLastClientMs = 4'451'000'000'000;  // 2111-01-18T04:53Z

// Returns nullopt if no frame can carry the time.
constexpr std::optional<BootTime> client_time(std::int64_t unix_ms) {
  if (unix_ms < kFirstClientMs || unix_ms > kLastClientMs) return std::nullopt;
  return boot_time(unix_ms * 1'000'000 - kClientAnchor.utc_minus_boot.count());
}
// Returns the nearest time that a frame can carry.
constexpr BootTime nearest_client_time(std::int64_t unix_ms) {
  return *client_time(std::clamp(unix_ms, kFirstClientMs, kLastClientMs));
}

// Returns the seconds from start to end (both ns UTC), at least 0; nullopt for a run that began in
// 1970 and ended later: its client named no start.
constexpr std::optional<double> run_seconds(std::int64_t start_ns, std::int64_t end_ns) {
  constexpr std::int64_t kYear1970 = 365LL * 86400 * 1'000'000'000;
  if (start_ns >= 0 && start_ns < kYear1970 && end_ns >= kYear1970) return std::nullopt;
  return end_ns > start_ns ? static_cast<double>(end_ns - start_ns) / 1e9 : 0.0;
}

static_assert(ns_of(*client_time(kFirstClientMs)) > -(std::int64_t{1} << 61));
static_assert(ns_of(*client_time(kLastClientMs)) < (std::int64_t{1} << 61));

}  // namespace corral::mlflow
