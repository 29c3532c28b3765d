// Network: a range of IP addresses, "10.0.0.0/8" or one address. Pure, any thread.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "core/result.h"

namespace corral::http {

class Network {
 public:
  // kInvalidArgument: not an address with an optional /length, or an address with bits set beyond
  // its length.
  static Result<Network> parse(std::string_view text);
  // `address` as text, without a port; false for what is none. An IPv4 address that is written as
  // IPv6 (::ffff:10.0.0.1) counts as IPv4.
  [[nodiscard]] bool contains(const std::string& address) const;

 private:
  using Bytes = std::array<std::uint8_t, 16>;
  static bool read(const std::string& text, Bytes& bytes);

  Bytes bytes_{};      // IPv4 as ::ffff:a.b.c.d
  unsigned bits_ = 0;  // the first ones count, of 128
};

bool any_contains(std::span<const Network> networks, const std::string& address);

// The client as the proxies in front say: the last address in `forwarded`, the value of
// X-Forwarded-For, that is no proxy's. Those before it may be inventions of the client.
// `peer` itself if the header has no such address.
std::string client_behind(std::span<const Network> proxies, std::string peer,
                          std::string_view forwarded);

}  // namespace corral::http
