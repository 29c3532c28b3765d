// Finds the position at which a text stops being JSON: the parser reports the error without it.
// Only for texts that were refused.
#pragma once

#include <cstddef>
#include <string_view>

namespace corral {

// Maximum nesting depth of arrays and objects that are not empty.
inline constexpr int kJsonDepth = 64;

// Offset of the first byte that cannot continue a JSON text that Json::parse takes (for a number
// out of range: of its first), the text's length when it ends too early.
std::size_t json_error_position(std::string_view text);

}  // namespace corral
