// Listening and connecting sockets, blocking and bare: HTTP on top is http_client's and
// server/http's business.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/result.h"
#include "sys/fd.h"
#include "sys/file.h"

namespace corral::sys {

struct ListenAddress {
  std::string host = "127.0.0.1";  // a name or a literal, IPv6 without brackets
  std::uint16_t port = 0;          // 0: any free one

  // "ADDR:PORT", "[::1]:PORT", ":PORT" (127.0.0.1) or "PORT"; kInvalidArgument names the expected
  // form.
  static Result<ListenAddress> parse(std::string_view text);
  // As a URL writes it: "[::1]:5000".
  [[nodiscard]] std::string text() const;
  // 0.0.0.0 or ::, every address of the machine.
  [[nodiscard]] bool is_wildcard() const;
};

// Bound and listening, O_CLOEXEC. kUnavailable names the address when it is in use.
Result<Fd> listen_tcp(const ListenAddress& address);
// The port that a bound socket has.
Result<std::uint16_t> bound_port(const Fd& socket);

// Listening at `path` with mode 0600 from the first moment. A leftover socket file there is
// replaced: the caller holds a lock that proves that it is unused. Anything but a socket at that
// path is an error.
Result<Fd> listen_unix(const fs::path& path);
// Connects to a server of this user or of root. Others can put a socket of theirs, or a link to
// another server of this user, at a path that a client expects: kPermission says which. Waits at
// most 5 s for a server that does not accept.
Result<Fd> connect_unix(const fs::path& path);
// The two checks of it. Before: the file is a socket of this user's or root's and no link. After:
// its server runs as this user or as root.
Result<> check_socket_file(const fs::path& path);
Result<> check_peer(int socket, const fs::path& path);
// Longest path that fits sockaddr_un.
inline constexpr std::size_t kUnixPathBytes = 107;

// "10.0.0.5", "fe80::1": an address rather than a name.
bool is_ip_literal(const std::string& text);
// The machine's name, as gethostname(2) gives it.
std::string host_name();

}  // namespace corral::sys
