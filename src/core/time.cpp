#include "core/time.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <ctime>

namespace corral {

std::string iso_utc(UtcTime t) {
  const auto since = t.time_since_epoch();
  const auto whole = std::chrono::floor<std::chrono::seconds>(since);
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(since - whole).count();
  const std::time_t clock = whole.count();
  std::tm parts{};
  ::gmtime_r(&clock, &parts);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z", parts.tm_year + 1900,
                     parts.tm_mon + 1, parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec,
                     ms);
}

std::string human_duration(Nanos d) {
  const double s = seconds(d);
  if (s < 59.95) return fmt::format("{:.1f} s", s);
  const auto total = static_cast<std::int64_t>(std::round(s));
  const std::int64_t days = total / 86400;
  const std::int64_t hours = total / 3600 % 24;
  const std::int64_t minutes = total / 60 % 60;
  if (days > 0) return fmt::format("{} d {}:{:02}:{:02}", days, hours, minutes, total % 60);
  if (hours > 0) return fmt::format("{}:{:02}:{:02}", hours, minutes, total % 60);
  return fmt::format("{}:{:02}", minutes, total % 60);
}

Nanos nanos_of_seconds(double seconds) {
  constexpr double kMost = 9.2e9;  // Nanos hold a little more
  if (std::isnan(seconds)) return Nanos(0);
  return Nanos(static_cast<std::int64_t>(std::clamp(seconds, -kMost, kMost) * 1e9));
}

std::string precise_duration(double seconds) {
  const double size = std::abs(seconds);
  constexpr double kRounded = 0.9995;  // less has three digits
  if (size < 0.5e-9) return "0 s";
  if (size >= 59.95) return human_duration(nanos_of_seconds(seconds));
  if (size >= kRounded) return fmt::format("{:.3g} s", seconds);
  if (size >= kRounded * 1e-3) return fmt::format("{:.3g} ms", seconds * 1e3);
  return size >= kRounded * 1e-6 ? fmt::format("{:.3g} µs", seconds * 1e6)
                                 : fmt::format("{:.3g} ns", seconds * 1e9);
}

Nanos parse_duration(std::string_view text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || !(number >= 0) || !std::isfinite(number)) return kNoDuration;
  const std::string_view unit(end, static_cast<std::size_t>(text.data() + text.size() - end));
  double scale = 0;
  if (unit.empty() || unit == "s") scale = 1e9;
  if (unit == "ms") scale = 1e6;
  if (unit == "us") scale = 1e3;
  if (unit == "m" || unit == "min") scale = 60e9;
  if (unit == "h") scale = 3600e9;
  if (unit == "d") scale = 86400e9;
  if (scale == 0 || number * scale > 9e18) return kNoDuration;
  return Nanos(static_cast<std::int64_t>(std::llround(number * scale)));
}

}  // namespace corral
