// Upstream: requests of a program that go on to the server, after what was spooled before them.
//
// Bodies of answers that are long wait in an unlinked file beside the spool, so that a download of
// any size costs no memory. Without a server the error says so within the patience; a request is
// sent twice only when that cannot do it twice. Any thread; calls block.
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
  Nanos patience{};                 // for a server to come
  sys::PrivateDirectory directory;  // where long bodies wait
};

class Upstream {
 public:
  Upstream(Delivery& delivery, UpstreamOptions options)
      : delivery_(delivery), options_(std::move(options)) {}

  // `request.path` as the server knows it. kUnavailable: there is no server.
  Result<http::Response> forward(const http::Request& request);
  // An unlinked file, where the body of a request that is streamed waits until it is whole.
  Result<sys::Fd> body_file();
  // `forward` of a request whose body is in that file.
  Result<http::Response> forward(const http::Request& request, const sys::Fd& body);
  // Ends what is under way within seconds, and refuses what comes.
  void cancel() {
    cancelled_ = true;
    delivery_.wake();
  }
  // A GET of a path with its query, after the flush; the answer's body whole.
  Result<sys::HttpReply> get(const std::string& path);

 private:
  struct Sent;
  Result<http::Response> forward(const http::Request& request, sys::HttpRequest out);
  Result<Sent> send(sys::HttpRequest request);
  Result<Sent> send_once(const sys::HttpRequest& request, bool& reached);
  std::unique_ptr<sys::HttpClient> take();
  void give_back(std::unique_ptr<sys::HttpClient> client);

  Delivery& delivery_;
  UpstreamOptions options_;
  std::atomic<bool> cancelled_{false};
  Mutex mutex_;
  std::vector<std::unique_ptr<sys::HttpClient>> idle_ GUARDED_BY(mutex_);
};

}  // namespace corral::run
