// The whole transport over a real socket: bytes of several connections, in segments, with
// pipelining, trailers, chunk extensions, half-closes and early closes. No input may throw in it,
// end it, or take more memory for bodies than it may.
//
// 0xff begins a new segment, 0xfe closes the connection and opens another, 0xfd closes its sending
// half. All that is left is sent at the end.
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>

#include "http/server.h"
#include "http/test_client.h"
#include "sys/socket.h"
#include "sys/thread_guard.h"

namespace {

namespace http = corral::http;
namespace fs = std::filesystem;

void check(bool holds) {
  if (!holds) std::abort();
}

std::optional<http::Response> gate(const http::Request& request) {
  if (request.path != "/refused") return std::nullopt;
  return http::error_response({corral::Code::kUnauthenticated, "no"});
}

http::Response answer(std::size_t bytes, bool streamed) {
  http::Response response = http::text_response(std::to_string(bytes));
  if (streamed) {
    response.stream = [left = 3](std::string& part) mutable -> corral::Result<bool> {
      part = "part";
      return --left > 0;
    };
  }
  return response;
}

http::Response handle(const http::Request& request) {
  const auto bytes = std::make_shared<std::size_t>(0);
  const auto take = [bytes](std::string_view piece) {
    *bytes += piece.size();
    return corral::Result<>();
  };
  const auto end = [bytes, streamed = request.path == "/stream"](const corral::Result<>& taken) {
    return taken ? answer(*bytes, streamed) : http::error_response(taken.error());
  };
  return http::take_body(request, {.take = take, .end = end});
}

// Lives as long as the process.
class Server {
 public:
  Server() {
    http::HttpOptions options;
    options.io_threads = 1;
    options.handler_threads = 1;
    options.stream_threads = 1;
    options.upload_threads = 1;
    options.body_limit = 1u << 16;
    options.body_memory = 1u << 17;
    options.upload_limit = 1u << 20;
    std::vector<http::Listener> listeners;
    listeners.push_back({.socket = corral::sys::listen_unix(path_).value(), .is_unix = true});
    http::HttpHandlers handlers{.gate = gate, .handle = handle};
    handlers.traffic = traffic_;
    handlers.streams_body = [](const http::Request& r) { return r.path == "/upload"; };
    handlers.takes_body = [](const http::Request& r) { return r.path != "/none"; };
    server_ = http::HttpServer::start(std::move(listeners), options, std::move(handlers)).value();
  }
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;
  ~Server() {
    server_.reset();
    std::error_code ignored;
    fs::remove(path_, ignored);
  }

  [[nodiscard]] http::TestClient connect() const { return http::TestClient(path_); }
  void is_well() const {
    check(corral::sys::thread_failures() == 0);
    check(traffic_->most_body_bytes <= 1u << 17);
    const auto reply = connect().get("/next");
    check(reply && reply->status == 200 && reply->body == "0");
  }

 private:
  const fs::path path_ =
      fs::temp_directory_path() / ("corral-fuzz-" + std::to_string(::getpid()) + ".sock");
  const std::shared_ptr<http::Traffic> traffic_ = std::make_shared<http::Traffic>();
  std::unique_ptr<http::HttpServer> server_;
};

constexpr std::string_view kMarks = "\xff\xfe\xfd";

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Server server;
  std::string_view bytes(reinterpret_cast<const char*>(data), size);
  http::TestClient client = server.connect();
  for (;;) {
    const std::size_t end = std::min(bytes.find_first_of(kMarks), bytes.size());
    client.send(bytes.substr(0, end));
    if (end == bytes.size()) break;
    if (bytes[end] == '\xfe') client = server.connect();
    if (bytes[end] == '\xfd') client.shutdown_send();
    bytes.remove_prefix(end + 1);
  }
  client.shutdown_send();
  check(client.ends());
  server.is_well();
  return 0;
}
