// Checks of the routes that save people's texts. Databases hold UTF-8 without NUL.
#pragma once

#include <string>
#include <string_view>

#include "core/result.h"
#include "server/api/request_fields.h"

namespace corral::server::api {

inline constexpr std::size_t kMostState = 256u << 10;  // bytes
inline constexpr std::size_t kMostBoardName = 250;     // characters
inline constexpr std::size_t kMostNote = 10'000;       // characters

std::size_t characters(std::string_view utf8);
// The required member `state`.
std::string read_state(RequestFields& fields);

}  // namespace corral::server::api
