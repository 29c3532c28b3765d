#include "collect/foreign/statsd_address.h"

#include <arpa/inet.h>
#include <fmt/core.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <array>
#include <cerrno>
#include <cstring>

namespace corral::collect::foreign {
namespace {

constexpr std::string_view kUnix = "unix:";
constexpr std::string_view kUdp = "udp:";
// Size of the queue while the thread is busy; the kernel may grant less.
constexpr int kReceiveBytes = 1 << 20;

struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t size = 0;
  [[nodiscard]] const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
  sockaddr* get() { return reinterpret_cast<sockaddr*>(&storage); }
};

template <class T>
SocketAddress socket_address(const T& address) {
  SocketAddress out;
  std::memcpy(&out.storage, &address, sizeof address);
  out.size = sizeof address;
  return out;
}

SocketAddress to_socket_address(const std::filesystem::path& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.c_str(), path.native().size() + 1);
  return socket_address(address);
}

SocketAddress to_socket_address(const sys::ListenAddress& udp) {
  in6_addr six{};
  if (::inet_pton(AF_INET6, udp.host.c_str(), &six) == 1) {
    sockaddr_in6 address{};
    address.sin6_family = AF_INET6;
    address.sin6_port = htons(udp.port);
    address.sin6_addr = six;
    return socket_address(address);
  }
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(udp.port);
  ::inet_pton(AF_INET, udp.host.c_str(), &address.sin_addr);
  return socket_address(address);
}

bool is_loopback(const std::string& host) {
  in_addr four{};
  return host == "::1" ||
         (::inet_pton(AF_INET, host.c_str(), &four) == 1 && ntohl(four.s_addr) >> 24 == 127);
}

// Removes the file of a socket that no process reads any more.
Result<> clear_left_over(const std::filesystem::path& path) {
  struct stat info {};
  if (::lstat(path.c_str(), &info) != 0) return {};
  if (!S_ISSOCK(info.st_mode))
    return fail(Code::kAlreadyExists, path.string() + ": exists and is not a socket");
  const sys::Fd probe(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  const SocketAddress address = to_socket_address(path);
  if (::connect(probe.get(), address.get(), address.size) == 0 || errno != ECONNREFUSED)
    return fail(Code::kUnavailable, path.string() + ": another process listens there");
  if (::unlink(path.c_str()) != 0 && errno != ENOENT) return fail_errno(path.string(), errno);
  return {};
}

}  // namespace

Result<StatsdAddress> StatsdAddress::parse(std::string_view text) {
  StatsdAddress address;
  if (text.starts_with(kUnix)) {
    address.path = text.substr(kUnix.size());
    const std::string& path = address.path.native();
    if (!address.path.is_absolute() || path.size() > sys::kUnixPathBytes ||
        path.find('\0') != std::string::npos) {
      return fail(Code::kInvalidArgument,
                  fmt::format("'{}' is not a path of a socket: it must start with / and "
                              "have at most {} bytes",
                              path, sys::kUnixPathBytes));
    }
    return address;
  }
  if (text.starts_with(kUdp)) text.remove_prefix(kUdp.size());
  address.udp = TRY(sys::ListenAddress::parse(text));
  if (address.udp.host == "localhost") address.udp.host = "127.0.0.1";
  if (!is_loopback(address.udp.host)) {
    return fail(Code::kInvalidArgument,
                fmt::format("'{}' is not on the loopback: anybody could write there; "
                            "expected e.g. 127.0.0.1:8125 or unix:/run/statsd.sock",
                            text));
  }
  return address;
}

std::string StatsdAddress::text() const {
  return path.empty() ? udp.text() : std::string(kUnix) + path.string();
}

Result<sys::Fd> StatsdAddress::bind() {
  if (!path.empty()) TRY(clear_left_over(path));
  SocketAddress address = path.empty() ? to_socket_address(udp) : to_socket_address(path);
  sys::Fd socket(::socket(address.storage.ss_family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket) return fail_errno("socket", errno);
  const int bytes = kReceiveBytes;
  const int on = 1;
  ::setsockopt(socket.get(), SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes);
  ::setsockopt(socket.get(), SOL_SOCKET, SO_RXQ_OVFL, &on, sizeof on);
  ::fchmod(socket.get(), 0600);  // the mode that its file is made with
  if (::bind(socket.get(), address.get(), address.size) != 0) {
    if (errno == EADDRINUSE)
      return fail(Code::kUnavailable, text() + ": another process listens there");
    return fail_errno(text(), errno);
  }
  if (path.empty()) udp.port = TRY(sys::bound_port(socket));
  return socket;
}

}  // namespace corral::collect::foreign
