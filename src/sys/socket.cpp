#include "sys/socket.h"

#include <arpa/inet.h>
#include <fmt/core.h>
#include <netdb.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <memory>

#include "core/text.h"

namespace corral::sys {
namespace {

constexpr int kBacklog = 128;
constexpr timeval kConnectPatience{.tv_sec = 5, .tv_usec = 0};

using AddressList = std::unique_ptr<addrinfo, decltype(&freeaddrinfo)>;

Result<AddressList> resolve(const ListenAddress& address) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const int status =
      getaddrinfo(address.host.c_str(), std::to_string(address.port).c_str(), &hints, &found);
  if (status != 0) {
    return fail(Code::kInvalidArgument,
                fmt::format("{}: {}", address.text(), gai_strerror(status)));
  }
  return AddressList(found, &freeaddrinfo);
}

Result<sockaddr_un> unix_address(const fs::path& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.native().size() > kUnixPathBytes) {
    return fail(Code::kTooLarge,
                fmt::format("{}: over {} bytes for a socket", path.string(), kUnixPathBytes));
  }
  std::memcpy(address.sun_path, path.c_str(), path.native().size() + 1);
  return address;
}

Result<> remove_left_over_socket(const fs::path& path) {
  struct stat info {};
  if (::lstat(path.c_str(), &info) != 0) return {};
  if (!S_ISSOCK(info.st_mode))
    return fail(Code::kAlreadyExists, path.string() + ": exists and is not a socket");
  if (::unlink(path.c_str()) != 0 && errno != ENOENT) return fail_errno(path.string(), errno);
  return {};
}

tl::unexpected<Error> foreign_server(const fs::path& path, uid_t owner) {
  return fail(Code::kPermission, fmt::format("{}: the server there belongs to user {}, not to user "
                                             "{}; nothing is sent",
                                             path.string(), owner, ::geteuid()));
}

// {}: without a limit.
void limit_sending(const Fd& socket, timeval limit) {
  ::setsockopt(socket.get(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
}

}  // namespace

Result<ListenAddress> ListenAddress::parse(std::string_view text) {
  const auto wrong = [&] {
    return fail(Code::kInvalidArgument,
                fmt::format("'{}' is not an address to listen on: expected "
                            "ADDRESS:PORT, e.g. 127.0.0.1:5000 or [::1]:5000",
                            text));
  };
  ListenAddress address;
  const std::size_t colon = text.rfind(':');
  const std::string_view port_text =
      colon == std::string_view::npos ? text : text.substr(colon + 1);
  std::string_view host = colon == std::string_view::npos ? "" : text.substr(0, colon);
  if (host.starts_with('[') != host.ends_with(']') || host == "[]") return wrong();
  const bool bracketed = host.starts_with('[') && host.size() > 2;
  if (bracketed) host = host.substr(1, host.size() - 2);
  if (!bracketed && host.find(':') != std::string_view::npos) return wrong();
  const std::optional<std::int64_t> port = parse_int(port_text);
  if (!port || *port < 0 || *port > 65535) return wrong();
  if (!host.empty()) address.host = host;
  address.port = static_cast<std::uint16_t>(*port);
  return address;
}

std::string ListenAddress::text() const {
  return host.find(':') == std::string::npos ? fmt::format("{}:{}", host, port)
                                             : fmt::format("[{}]:{}", host, port);
}

bool ListenAddress::is_wildcard() const { return host == "0.0.0.0" || host == "::"; }

Result<Fd> listen_tcp(const ListenAddress& address) {
  const AddressList found = TRY(resolve(address));
  Fd fd(::socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!fd) return fail_errno("socket", errno);
  const int on = 1;
  ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (::bind(fd.get(), found->ai_addr, found->ai_addrlen) != 0 ||
      ::listen(fd.get(), kBacklog) != 0) {
    if (errno == EADDRINUSE)
      return fail(Code::kUnavailable, address.text() + " is in use by another program");
    return fail_errno(address.text(), errno);
  }
  return fd;
}

Result<std::uint16_t> bound_port(const Fd& socket) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  if (::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address), &size) != 0) {
    return fail_errno("getsockname", errno);
  }
  std::array<char, 8> port{};
  const int status = getnameinfo(reinterpret_cast<const sockaddr*>(&address), size, nullptr, 0,
                                 port.data(), static_cast<socklen_t>(port.size()), NI_NUMERICSERV);
  if (status != 0) return fail(Code::kIo, gai_strerror(status));
  return static_cast<std::uint16_t>(parse_int(port.data()).value_or(0));
}

Result<Fd> listen_unix(const fs::path& path) {
  const sockaddr_un address = TRY(unix_address(path));
  TRY(remove_left_over_socket(path));
  Fd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!fd) return fail_errno("socket", errno);
  // Linux gives the file the mode of the unbound socket: there is no moment when others may
  // connect.
  ::fchmod(fd.get(), 0600);
  if (::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      ::chmod(path.c_str(), 0600) != 0 || ::listen(fd.get(), kBacklog) != 0) {
    return fail_errno(path.string(), errno);
  }
  return fd;
}

Result<> check_socket_file(const fs::path& path) {
  struct stat facts {};
  if (::lstat(path.c_str(), &facts) != 0) return fail_errno(path.string(), errno);
  if (S_ISSOCK(facts.st_mode) && (facts.st_uid == ::geteuid() || facts.st_uid == 0)) return {};
  if (S_ISSOCK(facts.st_mode)) return foreign_server(path, facts.st_uid);
  return fail(Code::kPermission, fmt::format("{} is not a socket; nothing is sent", path.string()));
}

Result<> check_peer(int socket, const fs::path& path) {
  ucred peer{};
  socklen_t size = sizeof peer;
  if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0)
    return fail_errno(path.string(), errno);
  if (peer.uid == ::geteuid() || peer.uid == 0) return {};
  return foreign_server(path, peer.uid);
}

Result<Fd> connect_unix(const fs::path& path) {
  const sockaddr_un address = TRY(unix_address(path));
  TRY(check_socket_file(path));
  Fd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!fd) return fail_errno("socket", errno);
  // connect(2) waits as long as send(2) may when the queue of connections is full.
  limit_sending(fd, kConnectPatience);
  if (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    return fail_errno(path.string(), errno == EAGAIN ? ETIMEDOUT : errno);
  limit_sending(fd, {});
  TRY(check_peer(fd.get(), path));
  return fd;
}

bool is_ip_literal(const std::string& text) {
  in6_addr ignored{};
  return ::inet_pton(AF_INET, text.c_str(), &ignored) == 1 ||
         ::inet_pton(AF_INET6, text.c_str(), &ignored) == 1;
}

std::string host_name() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? std::string(name.data())
                                                          : std::string();
}

}  // namespace corral::sys
