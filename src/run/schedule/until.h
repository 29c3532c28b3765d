// Until: parses a point in time of the user. Pure but for the time zone.
#pragma once

#include <optional>
#include <string_view>

#include "core/time.h"

namespace corral::run::schedule {

// "18:30" (the next one, local time), "2026-11-23 08:00" or "2026-11-23T08:00:00" (local), or a
// duration from now: "90m", "3h". Nullopt: none of these.
std::optional<UtcTime> parse_until(std::string_view text, UtcTime now);

}  // namespace corral::run::schedule
