#include "http/network.h"

#include <arpa/inet.h>
#include <fmt/core.h>

#include <algorithm>

#include "core/text.h"
#include "sys/socket.h"

namespace corral::http {
namespace {

constexpr unsigned kV4Prefix = 96;  // bits before an IPv4 address in ::ffff:a.b.c.d

// Some proxies add the port: "192.0.2.5:4711", "[2001:db8::1]:4711".
std::string without_port(std::string_view text) {
  if (sys::is_ip_literal(std::string(text))) return std::string(text);
  const std::size_t end = text.rfind(':');
  std::string_view address = text.substr(0, end);
  if (end == std::string_view::npos || !parse_int(text.substr(end + 1))) address = text;
  const bool bracketed = address.size() > 2 && address.front() == '[' && address.back() == ']';
  return std::string(bracketed ? address.substr(1, address.size() - 2) : address);
}

}  // namespace

bool Network::read(const std::string& text, Bytes& bytes) {
  bytes = {};
  if (::inet_pton(AF_INET6, text.c_str(), bytes.data()) == 1) return true;
  bytes[10] = bytes[11] = 0xFF;
  return ::inet_pton(AF_INET, text.c_str(), &bytes[12]) == 1;
}

Result<Network> Network::parse(std::string_view text) {
  const std::size_t slash = text.find('/');
  Network network;
  const std::string address(text.substr(0, slash));
  const unsigned most = address.find(':') == std::string::npos ? 32 : 128;
  const auto length = slash == std::string_view::npos ? std::optional<std::int64_t>(most)
                                                      : parse_int(text.substr(slash + 1));
  if (!read(address, network.bytes_) || !length || *length < 0 || *length > most) {
    return fail(Code::kInvalidArgument,
                fmt::format("'{}' is no network: expected an address, 10.0.0.7, or a range, "
                            "10.0.0.0/8 or fd00::/8",
                            to_utf8(text)));
  }
  network.bits_ = static_cast<unsigned>(*length) + (most == 32 ? kV4Prefix : 0);
  for (unsigned bit = network.bits_; bit < 128; ++bit) {
    if ((network.bytes_.at(bit / 8) >> (7 - bit % 8) & 1) == 0) continue;
    return fail(Code::kInvalidArgument, fmt::format("'{}' has bits beyond its first {}: is it /{}?",
                                                    to_utf8(text), *length, most));
  }
  return network;
}

bool Network::contains(const std::string& address) const {
  Bytes other{};
  if (!read(address, other)) return false;
  for (unsigned bit = 0; bit < bits_; ++bit) {
    const unsigned mask = 1u << (7 - bit % 8);
    if (((bytes_.at(bit / 8) ^ other.at(bit / 8)) & mask) != 0) return false;
  }
  return true;
}

bool any_contains(std::span<const Network> networks, const std::string& address) {
  return std::ranges::any_of(networks, [&](const Network& n) { return n.contains(address); });
}

std::string client_behind(std::span<const Network> proxies, std::string peer,
                          std::string_view forwarded) {
  std::string client = std::move(peer);
  while (any_contains(proxies, client) && !forwarded.empty()) {
    const std::size_t comma = forwarded.rfind(',');
    const std::size_t begin = comma == std::string_view::npos ? 0 : comma + 1;
    std::string before = without_port(trim(forwarded.substr(begin)));
    if (!sys::is_ip_literal(before)) return client;
    client = std::move(before);
    forwarded = forwarded.substr(0, comma == std::string_view::npos ? 0 : comma);
  }
  return client;
}

}  // namespace corral::http
