// Where a text stops being JSON: the reader says what is wrong but not where. Only for texts that were refused.
#pragma once

#include <cstddef>
#include <string_view>

namespace corral::server::api {

// Offset of the first byte that cannot continue a JSON text, its length when it ends too early.
std::size_t json_error_position(std::string_view text);

}  // namespace corral::server::api
