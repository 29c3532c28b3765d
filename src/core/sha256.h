// SHA-256 of a short text, plain and keyed, and of what comes in pieces, by OpenSSL.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace corral {

using Sha256 = std::array<std::uint8_t, 32>;
Sha256 sha256(std::string_view text);
// HMAC (RFC 2104).
Sha256 hmac_sha256(std::string_view key, std::string_view text);

// Compares in a time that depends on the lengths alone.
bool same_secret_bytes(std::span<const std::uint8_t> a, std::span<const std::uint8_t> b);

// In lower case.
std::string hex(std::span<const std::uint8_t> bytes);
// The first `bytes` of it.
std::string hex(const Sha256& digest, std::size_t bytes = 32);

class Sha256Stream {
 public:
  Sha256Stream();
  void add(std::string_view piece);
  // Once, at the end.
  Sha256 finish();

 private:
  struct Free {
    void operator()(void* context) const;
  };
  std::unique_ptr<void, Free> context_;
};

}  // namespace corral
