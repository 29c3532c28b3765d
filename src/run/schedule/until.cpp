#include "run/schedule/until.h"

#include <array>
#include <ctime>
#include <string>

namespace corral::run::schedule {
namespace {

UtcTime from_local(std::tm local) {
  local.tm_isdst = -1;
  return UtcTime(std::chrono::seconds(std::mktime(&local)));
}

// True if the whole text has the format, as strptime(3) reads it.
bool reads_as(const std::string& text, const char* format, std::tm& fields) {
  const char* end = ::strptime(text.c_str(), format, &fields);
  return end != nullptr && *end == '\0';
}

}  // namespace

std::optional<UtcTime> parse_until(std::string_view text, UtcTime now) {
  const std::string whole(text);
  const std::time_t seconds_now =
      std::chrono::duration_cast<std::chrono::seconds>(now.time_since_epoch()).count();
  std::tm today{};
  ::localtime_r(&seconds_now, &today);
  for (const char* format : {"%H:%M", "%H:%M:%S"}) {
    std::tm fields = today;
    fields.tm_sec = 0;
    if (!reads_as(whole, format, fields)) continue;
    if (from_local(fields) <= now) ++fields.tm_mday;
    return from_local(fields);
  }
  constexpr std::array kDates = {"%Y-%m-%dT%H:%M", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M",
                                 "%Y-%m-%d %H:%M:%S"};
  for (const char* format : kDates) {
    std::tm fields{};
    if (reads_as(whole, format, fields)) return from_local(fields);
  }
  const Nanos duration = parse_duration(text);
  if (duration == kNoDuration) return std::nullopt;
  return now + duration;
}

}  // namespace corral::run::schedule
