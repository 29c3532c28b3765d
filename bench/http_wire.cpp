#include "http_wire.h"

#include <arpa/inet.h>
#include <fmt/core.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cstdlib>

#include "measure.h"

namespace corral::bench {
namespace {

[[noreturn]] void give_up(std::string_view what) {
  fmt::print(stderr, "{}\n", what);
  std::exit(1);
}

sys::Fd connect_to(int port) {
  sys::Fd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(static_cast<std::uint16_t>(port));
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const int on = 1;
  if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&to), sizeof to) != 0 ||
      ::setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) != 0)
    give_up("nobody listens there");
  return socket;
}

class Wire {
 public:
  Wire(int port, const NextRequest& next) : socket_(connect_to(port)), next_(next) {}

  [[nodiscard]] int fd() const { return socket_.get(); }

  // False: it is done.
  bool send_next(std::string_view answer) {
    const auto request = next_(answer);
    if (!request) return false;
    sent_ = Stopwatch();
    for (std::size_t at = 0; at < request->size();) {
      const auto n = ::send(fd(), request->data() + at, request->size() - at, MSG_NOSIGNAL);
      if (n <= 0) give_up("the server hung up");
      at += static_cast<std::size_t>(n);
    }
    return true;
  }

  // Reads what has come; true: the answer is whole.
  bool receive() {
    const auto n = ::recv(fd(), buffer_.data(), buffer_.size(), 0);
    if (n <= 0) give_up("the server hung up");
    text_.append(buffer_.data(), static_cast<std::size_t>(n));
    if (whole_ == 0) read_head();
    return whole_ > 0 && text_.size() >= whole_;
  }

  // The whole answer's body; forgets the answer.
  std::string take() {
    if (!text_.starts_with("HTTP/1.1 200")) give_up(text_.substr(0, 400));
    std::string body = text_.substr(head_, whole_ - head_);
    text_.erase(0, whole_);
    whole_ = 0;
    return body;
  }

  [[nodiscard]] double waited_ms() const { return sent_.ms(); }

 private:
  void read_head() {
    static constexpr std::string_view kEnd = "\r\n\r\n", kLength = "content-length:";
    const std::size_t end = text_.find(kEnd);
    if (end == std::string::npos) return;
    head_ = end + kEnd.size();
    std::string head = text_.substr(0, head_);
    for (char& c : head) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c;
    const std::size_t length = head.find(kLength);
    if (length == std::string::npos) give_up("an answer without Content-Length");
    whole_ = head_ + std::strtoull(head.c_str() + length + kLength.size(), nullptr, 10);
  }

  sys::Fd socket_;
  const NextRequest& next_;
  Stopwatch sent_;
  std::array<char, 1u << 16> buffer_{};
  std::string text_;
  std::size_t head_ = 0, whole_ = 0;  // bytes; whole_ is 0 until the head is there
};

}  // namespace

std::string request_text(std::string_view path, std::string_view body) {
  const std::string_view method = body.empty() ? "GET" : "POST";
  std::string text = fmt::format("{} {} HTTP/1.1\r\nHost: 127.0.0.1\r\n", method, path);
  if (!body.empty())
    text += fmt::format("Content-Type: application/json\r\nContent-Length: {}\r\n", body.size());
  if (const char* token = std::getenv("CORRAL_BENCH_TOKEN"))
    text += fmt::format("Authorization: Bearer {}\r\n", token);
  return text.append("\r\n").append(body);
}

Exchanged send_all(int port, const std::vector<NextRequest>& work) {
  std::vector<std::unique_ptr<Wire>> wires;
  std::vector<pollfd> waiting;
  for (const NextRequest& next : work) {
    wires.push_back(std::make_unique<Wire>(port, next));
    waiting.push_back({.fd = wires.back()->fd(), .events = POLLIN, .revents = 0});
  }
  Exchanged done;
  const Stopwatch all;
  std::size_t open = 0;
  const auto go_on = [&](std::size_t i, std::string_view answer) {
    if (wires[i]->send_next(answer)) return true;
    waiting[i].fd = -1;
    return false;
  };
  for (std::size_t i = 0; i < wires.size(); ++i) open += go_on(i, {}) ? 1 : 0;
  while (open > 0) {
    if (::poll(waiting.data(), waiting.size(), -1) < 0) give_up("poll");
    for (std::size_t i = 0; i < wires.size(); ++i) {
      if (waiting[i].fd < 0 || waiting[i].revents == 0 || !wires[i]->receive()) continue;
      done.took_ms.push_back(wires[i]->waited_ms());
      if (!go_on(i, wires[i]->take())) --open;
    }
  }
  done.seconds = all.seconds();
  return done;
}

}  // namespace corral::bench
