// The address at which statsd datagrams arrive: UDP on the loopback, or a Unix socket.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "core/result.h"
#include "sys/fd.h"
#include "sys/socket.h"

namespace corral::collect::foreign {

struct StatsdAddress {
  std::filesystem::path path;  // path of a Unix socket; empty: UDP at
  sys::ListenAddress udp{};

  // "127.0.0.1:8125", "[::1]:8125", ":8125", "udp:..." or "unix:/path"; no other host than this
  // one's loopback.
  static Result<StatsdAddress> parse(std::string_view text);
  // The form in which clients get it; parse() reads it.
  [[nodiscard]] std::string text() const;
  // A datagram socket that does not block, with its port filled in. kUnavailable when somebody
  // listens there. The caller that closes a Unix socket removes its file.
  Result<sys::Fd> bind();
};

}  // namespace corral::collect::foreign
