// A raw HTTP client for tests: sends exactly the bytes it is given.
#pragma once

#include <arpa/inet.h>
#include <poll.h>
#include <sys/socket.h>

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "core/text.h"
#include "sys/socket.h"

namespace corral::http {

// The chunks of a request: a body of two bytes and a trailer that Beast's parser throws at.
inline std::string long_trailer() {
  return "2\r\n{}\r\n0\r\nX-A: " + std::string(65'600, 'x') + "\r\n\r\n";
}

class TestClient {
 public:
  struct Reply {
    int status = 0;
    std::string head;
    std::string body;
  };

  // `receive_bytes`: of the socket's buffer, as a slow reader has it.
  explicit TestClient(std::uint16_t port, int receive_bytes = 0)
      : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    if (receive_bytes > 0)
      ::setsockopt(fd_.get(), SOL_SOCKET, SO_RCVBUF, &receive_bytes, sizeof receive_bytes);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    connected_ =
        ::connect(fd_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  }
  explicit TestClient(const sys::fs::path& socket) {
    if (auto fd = sys::connect_unix(socket)) fd_ = std::move(*fd);
    connected_ = fd_.valid();
  }
  [[nodiscard]] bool connected() const { return connected_; }

  // False when the peer has closed.
  bool send(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t n = ::send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (n <= 0) return false;
      bytes.remove_prefix(static_cast<std::size_t>(n));
    }
    return true;
  }
  // Reads until `needle` has come; false at the end of the stream or after 60 s without a byte.
  bool read_until(std::string_view needle) {
    while (seen_.find(needle) == std::string::npos) {
      if (!read_some()) return false;
    }
    return true;
  }
  // The next whole answer; nullopt when the stream ends inside it or before it.
  std::optional<Reply> reply(bool head_only = false) {
    if (!read_until("\r\n\r\n")) return std::nullopt;
    Reply reply;
    const std::size_t end = seen_.find("\r\n\r\n") + 4;
    reply.head = seen_.substr(0, end);
    seen_.erase(0, end);
    reply.status = static_cast<int>(parse_int(reply.head.substr(9, 3)).value_or(0));
    const std::size_t length_at = reply.head.find("Content-Length: ");
    if (head_only || length_at == std::string::npos) return reply;
    const std::size_t value_at = length_at + 16;
    const auto length =
        parse_int(reply.head.substr(value_at, reply.head.find('\r', value_at) - value_at));
    while (seen_.size() < static_cast<std::size_t>(length.value_or(0))) {
      if (!read_some()) return std::nullopt;
    }
    reply.body = seen_.substr(0, static_cast<std::size_t>(*length));
    seen_.erase(0, reply.body.size());
    return reply;
  }
  std::optional<Reply> get(std::string_view target,
                           std::string_view headers = "Host: localhost\r\n") {
    send("GET " + std::string(target) + " HTTP/1.1\r\n" + std::string(headers) + "\r\n");
    return reply();
  }
  // True when the peer closes within 60 s, whatever it sends before.
  bool ends() {
    while (read_some()) {
    }
    return ended_;
  }
  // Returns true if data or the end can be read within `limit`.
  bool readable(std::chrono::milliseconds limit) {
    pollfd ready{fd_.get(), POLLIN, 0};
    return ::poll(&ready, 1, static_cast<int>(limit.count())) > 0;
  }
  [[nodiscard]] const std::string& seen() const { return seen_; }
  void shutdown_send() { ::shutdown(fd_.get(), SHUT_WR); }

 private:
  bool read_some() {
    pollfd ready{fd_.get(), POLLIN, 0};
    if (::poll(&ready, 1, 60'000) <= 0) return false;
    char buffer[65536];
    const ssize_t n = ::recv(fd_.get(), buffer, sizeof buffer, 0);
    if (n <= 0) {
      ended_ = true;
      return false;
    }
    seen_.append(buffer, static_cast<std::size_t>(n));
    return true;
  }

  sys::Fd fd_;
  bool connected_ = false;
  bool ended_ = false;
  std::string seen_;
};

}  // namespace corral::http
