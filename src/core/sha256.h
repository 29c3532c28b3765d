// SHA-256 of a short text, plain and keyed, by OpenSSL.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace corral {

using Sha256 = std::array<std::uint8_t, 32>;
Sha256 sha256(std::string_view text);
// HMAC (RFC 2104).
Sha256 hmac_sha256(std::string_view key, std::string_view text);

}  // namespace corral
