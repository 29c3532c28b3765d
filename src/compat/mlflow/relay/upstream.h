// Upstream: forwards requests of a program to the server, after everything that was spooled
// earlier.
//
// Long bodies of answers are kept in an unlinked file beside the spool, so that a download of any
// size costs no memory. Without a server, a call fails within the patience. A request is sent again
// only when the server cannot carry it out twice. Any thread; calls block.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "core/mutex.h"
#include "http/request.h"
#include "http/response.h"
#include "run/delivery.h"
#include "sys/file.h"
#include "sys/http_client.h"
#include "sys/private_directory.h"

namespace corral::run {

struct UpstreamOptions {
  sys::HttpTarget target;
  Nanos patience{};                 // the wait for a server
  sys::PrivateDirectory directory;  // holds long bodies
};

class Upstream {
 public:
  Upstream(Delivery& delivery, UpstreamOptions options)
      : delivery_(delivery), options_(std::move(options)) {}

  // `request.path` is a path of the server. kUnavailable: there is no server.
  Result<http::Response> forward(const http::Request& request);
  // Returns an unlinked file for the body of a streamed request until it is complete.
  Result<sys::Fd> body_file();
  // The same for a request whose body is in the file `body`.
  Result<http::Response> forward(const http::Request& request, const sys::Fd& body);
  // Ends running calls within seconds and refuses later ones.
  void cancel() {
    cancelled_ = true;
    delivery_.wake();
  }
  // Sends a GET for a path with its query, after the flush, and returns the complete answer.
  Result<sys::HttpReply> get(const std::string& path);

 private:
  struct Sent;
  Result<http::Response> forward(const http::Request& request, sys::HttpRequest out);
  Result<Sent> send(sys::HttpRequest request);
  Result<Sent> send_once(const sys::HttpRequest& request, bool& reached);
  std::unique_ptr<sys::HttpClient> acquire();
  void release(std::unique_ptr<sys::HttpClient> client);

  // Constant after construction.
  Delivery& delivery_;
  const UpstreamOptions options_;

  std::atomic<bool> cancelled_{false};

  Mutex mutex_;
  // Guarded by mutex_.
  std::vector<std::unique_ptr<sys::HttpClient>> idle_ GUARDED_BY(mutex_);
};

}  // namespace corral::run
