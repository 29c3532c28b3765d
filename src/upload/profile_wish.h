// ProfileWish: a profile of a run's next steps, as somebody asked the server for it. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/ids.h"
#include "core/json.h"

namespace corral::upload {

struct ProfileWish {
  RunId run;
  std::string id;  // is_profile_id()
  std::string tool;
  std::int64_t steps = 0;  // 1 to kMostProfileSteps
};

// Parses an answer of the server ({"run", "id", "tool", "steps"}); nothing if it is not one.
std::optional<ProfileWish> parse_profile_wish(const Json& json);

}  // namespace corral::upload
