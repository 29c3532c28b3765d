// Writes a requested profile as JSON.
#pragma once

#include "core/json.h"
#include "server/core/profile_asks.h"

namespace corral::server::api {

void write_profile(JsonWriter& json, const ProfileAsk& ask);

}  // namespace corral::server::api
