// HTTP/1.1 client over TCP or a Unix socket, by libcurl. One connection, kept alive; one thread at
// a time.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/result.h"
#include "core/time.h"

namespace corral::sys {

struct HttpTarget {
  std::string base_url;     // "http://127.0.0.1:5000", no slash at the end
  std::string unix_socket;  // when not empty, connected to instead of the URL's host
  std::string token;        // sent as Authorization: Bearer
  // PEM file of the authorities that its certificate may be from; empty: certificate_file().
  std::string ca_file{};
};

using HttpFields = std::vector<std::pair<std::string, std::string>>;

struct HttpRequest {
  std::string method = "GET";
  std::string path;  // "/api/..."
  std::string_view body;
  std::string content_type = "application/json";  // type of a body, and of any POST
  Nanos timeout{std::chrono::seconds(30)};
  HttpFields headers{};  // more of them
  // Instead of the body: so many bytes of this file from its start, never whole in memory.
  int file = -1;
  std::int64_t file_bytes = 0;
  // Ends the transfer when it turns true; looked at about once a second.
  const std::atomic<bool>* cancel = nullptr;
};
struct HttpReply {
  int status = 0;
  std::string body;
  HttpFields headers{};  // names in lower case; of exchange() only
};

class HttpClient {
 public:
  explicit HttpClient(HttpTarget target);
  HttpClient(HttpClient&&) noexcept;
  HttpClient& operator=(HttpClient&&) noexcept;
  ~HttpClient();
  [[nodiscard]] const HttpTarget& target() const { return target_; }
  // kUnavailable when there is no connection or no answer in time; any HTTP status is an answer.
  Result<HttpReply> send(const HttpRequest& request);
  // Hands the body over piece by piece as it comes; `take` returning false ends the transfer. Gives
  // the status.
  Result<int> stream(const HttpRequest& request, const std::function<bool(std::string_view)>& take);
  // The same with the answer's headers; its body is empty.
  Result<HttpReply> exchange(const HttpRequest& request,
                             const std::function<bool(std::string_view)>& take);
  // Returns true if the last request reached a connection: if not, no server has seen any of it.
  [[nodiscard]] bool reached() const { return reached_; }

 private:
  struct Handle;
  Result<int> perform(const HttpRequest& request, const std::function<bool(std::string_view)>& take,
                      HttpFields* headers);
  void set_body(const HttpRequest& request);
  HttpTarget target_;
  std::unique_ptr<Handle> handle_;
  bool reached_ = false;
};

// Percent-encodes everything but unreserved characters (RFC 3986).
std::string url_encode(std::string_view text);

}  // namespace corral::sys
