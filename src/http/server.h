// HttpServer: the transport. Turns bytes of listening sockets into Requests and Responses into
// bytes.
//
// On I/O threads `gate` is called, with the header and before the body is read, and must not block;
// and `handle` for a quick request (is_quick) of a connection that asks alone. `handle` of all
// others runs on a fixed pool, producers of streamed answers and takers of streamed bodies on two
// others, a part at a time, so that slow clients never delay others. Exceptions of both end as a
// 500, any other (sys/thread_guard.h) ends its connection. This folder is the only one that
// includes Boost: pool, io_thread, channel, session and server do.
//
// Limits: those of head.h, body `body_limit` (also after it was unpacked, gzip.h), all bodies
// together `body_memory` (body_budget.h), their values as JSON `json_memory` (json_budget.h), one
// request at a time per connection, `max_connections` in all and so many from one address; every
// wait for a client has a deadline (a body must arrive at 64 KiB/s on average). The Unix socket has
// its own room: clients that fill the port cannot lock out the runs of this machine.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/limits.h"
#include "core/time.h"
#include "http/network.h"
#include "http/request.h"
#include "http/response.h"
#include "http/tls.h"
#include "sys/fd.h"

namespace corral::http {

struct Listener {
  sys::Fd socket;  // bound and listening; the server takes it over
  bool is_unix = false;
  std::shared_ptr<const Tls> tls{};  // null: plain
  // Plain requests are led to this port, where HTTPS is spoken: all of a plain listener; on one
  // with TLS its own port. 0: they are answered.
  std::uint16_t https_port = 0;
  bool https_only = false;  // tells browsers never to reach this host by plain HTTP (HSTS)
};

struct HttpOptions {
  int io_threads = 2;
  int handler_threads = 4;
  int stream_threads = 8;                      // make the parts of streamed answers
  int upload_threads = 8;                      // take the pieces of streamed bodies
  std::size_t max_connections = 1000;          // over TCP, and as many over the Unix socket
  std::size_t max_connections_per_peer = 500;  // one IP address, if it is no proxy
  // Reverse proxies: they say who their client is and whether it speaks HTTPS (X-Forwarded-For,
  // X-Forwarded-Proto).
  std::vector<Network> proxies{};
  std::size_t body_limit = limits::kBodyBytes;
  std::size_t body_memory = limits::kBodyMemory;  // limit for all connections; at least body_limit
  std::size_t json_memory = limits::kBodyMemory;  // for reading bodies as JSON (json_budget.h)
  std::string spill_directory = "/tmp";           // holds the rest of a long part for a slow reader
  std::uint64_t upload_limit = std::uint64_t{1} << 40;  // limit of a streamed body
  Nanos idle_timeout = std::chrono::seconds(75);        // for the first byte of the next request
  Nanos header_timeout = std::chrono::seconds(20);      // from that byte on, for the whole header
  Nanos write_timeout = std::chrono::seconds(30);       // for any write, plus its bytes at 64 KiB/s
};

// Counts since the start; any thread.
struct Traffic {
  std::atomic<std::int64_t> open{0};  // connections
  std::atomic<std::uint64_t> accepted{0};
  std::atomic<std::uint64_t> turned_away{0};  // connections over a limit
  std::atomic<std::uint64_t> bytes_in{0};     // bytes of heads and bodies, as received
  std::atomic<std::uint64_t> bytes_out{0};
  std::atomic<std::uint64_t> body_bytes{0};       // held now (body_budget.h)
  std::atomic<std::uint64_t> most_body_bytes{0};  // at any time
};

// A request that was answered, or whose client left before its answer was out.
struct Exchange {
  std::string_view id;
  std::string_view peer;  // IP address, behind proxies the client's; "unix" for the Unix socket
  Method method = Method::kOther;
  std::string_view path;   // encoded as sent, without the query; empty: there was none to be read
  std::string_view route;  // Response::route
  int status = 0;
  std::uint64_t bytes = 0;  // bytes of the answer, its head included
  Nanos took{};             // from the whole head to the last byte, of event streams: to the first
  bool whole = true;        // false: the answer did not get through
  std::string_view error = {};  // the body of a 5xx
};

struct HttpHandlers {
  // Returns an answer to refuse the request before its body is read.
  std::function<std::optional<Response>(const Request&)> gate;
  std::function<Response(Request)> handle;
  // Builds the answer if the transport rejects a request for its path (a body that is too long);
  // default: error_response(). Must not block.
  std::function<Response(const Request&, const Error&)> error = {};
  // Called after each answer, on an I/O thread; must not block. Views live as long as the call.
  std::function<void(const Exchange&)> done = {};
  std::shared_ptr<Traffic> traffic = {};  // counted into, when set
  // Returns true if the body is streamed: `handle` is called before it has come, and answers with
  // its consumer (take_body). Called on an I/O thread. Short bodies and compressed ones come whole
  // nevertheless.
  std::function<bool(const Request&)> streams_body = {};
  // Returns false if the handler ignores a body: a short one is dropped, a long one refused. Not
  // set: every body is read. Called on an I/O thread.
  std::function<bool(const Request&)> takes_body = {};
  // Returns true if the answer takes little longer than handing the request to another thread, or
  // waits only for a write that its client waits for, too. Not set: none is. Called on an I/O
  // thread.
  std::function<bool(const Request&)> is_quick = {};
  // Returns false if the handler does not read the body as JSON, so that it takes none of
  // `json_memory`. Not set: every body counts as JSON. Called on the handler's thread.
  std::function<bool(const Request&)> reads_json = {};
  // Returns true if the handler unpacks the body itself, whatever its Content-Encoding. Not set:
  // none does. Called on the handler's thread.
  std::function<bool(const Request&)> unpacks = {};
};

class HttpServer {
 public:
  // kUnavailable if threads cannot be started, kIo if sockets cannot; nothing is left behind then.
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

}  // namespace corral::http
