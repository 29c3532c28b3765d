// Base64 (RFC 4648).
#pragma once

#include <string>
#include <string_view>

#include "core/result.h"

namespace corral {

// With padding.
std::string base64(std::string_view bytes);
// The alphabet for addresses, without padding.
std::string base64url(std::string_view bytes);

// Reads either alphabet, with padding or without. kInvalidArgument: it is none.
Result<std::string> from_base64(std::string_view text);

}  // namespace corral
