// HttpServer: the transport. Turns bytes of listening sockets into Requests and Responses into
// bytes.
//
// I/O threads never run handlers: `gate` alone is called there, with the header and before the body
// is read, and must not block; `handle` runs on a fixed pool, producers of streamed answers on
// another one, so that slow downloads never hold up ingest. Exceptions of both end as a 500. This
// folder is the only one that includes Boost, in session.cpp and server.cpp.
//
// Limits: header 32 KiB, body `body_limit`, one request at a time per connection,
// `max_connections`; every wait for a client has a deadline (a body must arrive at 64 KiB/s on
// average).
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "core/limits.h"
#include "core/time.h"
#include "server/http/request.h"
#include "server/http/response.h"
#include "sys/fd.h"

namespace corral::server {

struct Listener {
  sys::Fd socket;  // bound and listening; the server takes it over
  bool is_unix = false;
};

struct HttpOptions {
  int io_threads = 2;
  int handler_threads = 4;
  int stream_threads = 2;
  std::size_t max_connections = 1000;
  std::size_t body_limit = limits::kBodyBytes;
  Nanos idle_timeout = std::chrono::seconds(75);   // for the next request's header, whole
  Nanos write_timeout = std::chrono::seconds(30);  // for any write, plus its bytes at 64 KiB/s
};

struct HttpHandlers {
  // An answer refuses the request before its body is read.
  std::function<std::optional<Response>(const Request&)> gate;
  std::function<Response(Request)> handle;
};

class HttpServer {
 public:
  // kIo when threads or sockets cannot be had.
  static Result<std::unique_ptr<HttpServer>> start(std::vector<Listener> listeners,
                                                   HttpOptions options, HttpHandlers handlers);
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;
  ~HttpServer();  // stops without grace when stop() was not called

  // Stops accepting, ends push streams and idle connections, lets requests in flight finish for
  // `grace`, then cuts them off. Returns when every thread has ended. Only once; any thread but its
  // own.
  void stop(Nanos grace);

 private:
  struct Impl;
  explicit HttpServer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace corral::server
