#include "compat/mlflow/relay/upstream.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <utility>

#include "core/ids.h"

namespace corral::run {
namespace {

constexpr std::size_t kMemoryBytes = 1u << 20;  // per answer; the rest goes to a file
constexpr std::size_t kPieceBytes = 64u << 10;
constexpr Nanos kTimeout{std::chrono::minutes(2)};  // a client's own
// A body adds time for its length: at 64 KiB/s, the server's slowest allowed rate.
constexpr std::size_t kBytesPerSecond = 64u << 10;

// Hop-by-hop headers, and headers that this client sets itself.
constexpr std::array<std::string_view, 14> kOwn = {
    "host",         "connection", "content-length",  "transfer-encoding",
    "expect",       "keep-alive", "accept-encoding", "authorization",
    "content-type", "te",         "upgrade",         "proxy-connection",
    "origin",       "cookie"};
constexpr std::array<std::string_view, 6> kNotPassedBack = {
    "connection", "content-length", "transfer-encoding", "keep-alive", "date", "x-request-id"};

std::string request_target(const http::Request& request) {
  std::string target = request.path;
  char separator = '?';
  for (const auto& [name, value] : request.query) {
    target += fmt::format("{}{}={}", separator, sys::url_encode(name), sys::url_encode(value));
    separator = '&';
  }
  return target;
}

Result<sys::Fd> unlinked_file(const sys::PrivateDirectory& directory) {
  const std::string name = ".answer-" + SessionId::random().hex();
  sys::Fd file = TRY(directory.open_file(name, O_RDWR | O_CREAT | O_EXCL));
  directory.remove(name);
  return file;
}

// An answer's body on its way to the client.
class Body {
 public:
  explicit Body(sys::PrivateDirectory directory) : directory_(std::move(directory)) {}
  bool add(std::string_view piece) {
    memory_.append(piece);
    if (memory_.size() < kMemoryBytes) return true;
    if (!file_) {
      auto file = unlinked_file(directory_);
      if (!file) return false;
      file_ = std::make_shared<sys::Fd>(std::move(*file));
    }
    const bool written = sys::write_all(file_->get(), memory_).has_value();
    memory_.clear();
    return written;
  }
  void move_to(http::Response& response) && {
    if (!file_) {
      response.body = std::move(memory_);
      return;
    }
    response.stream = [file = file_, tail = std::move(memory_),
                       at = off_t{0}](std::string& part) mutable -> Result<bool> {
      std::array<char, kPieceBytes> piece;
      const ssize_t n = ::pread(file->get(), piece.data(), piece.size(), at);
      if (n < 0) return fail_errno("read an answer", errno);
      part.append(piece.data(), static_cast<std::size_t>(n));
      at += n;
      if (n == 0) part += std::exchange(tail, {});
      return n > 0;
    };
  }
  [[nodiscard]] bool whole_in_memory() const { return file_ == nullptr; }
  std::string text() && { return std::move(memory_); }

 private:
  sys::PrivateDirectory directory_;
  std::string memory_;
  std::shared_ptr<sys::Fd> file_;
};

}  // namespace

struct Upstream::Sent {
  sys::HttpReply head;
  Body body;
};

std::unique_ptr<sys::HttpClient> Upstream::acquire() {
  const Lock lock(mutex_);
  if (idle_.empty()) return std::make_unique<sys::HttpClient>(options_.target);
  auto client = std::move(idle_.back());
  idle_.pop_back();
  return client;
}

void Upstream::release(std::unique_ptr<sys::HttpClient> client) {
  const Lock lock(mutex_);
  idle_.push_back(std::move(client));
}

Result<Upstream::Sent> Upstream::send_once(const sys::HttpRequest& request, bool& reached) {
  TRY(delivery_.flush(options_.patience, cancelled_));
  if (request.file >= 0 && ::lseek(request.file, 0, SEEK_SET) < 0)
    return fail_errno("the request's body", errno);
  Body body(options_.directory);
  std::unique_ptr<sys::HttpClient> client = acquire();
  auto head = client->exchange(request, [&](std::string_view piece) { return body.add(piece); });
  reached = client->reached();
  release(std::move(client));
  if (!head) return tl::unexpected(head.error());
  return Sent{.head = *std::move(head), .body = std::move(body)};
}

Result<Upstream::Sent> Upstream::send(sys::HttpRequest request) {
  request.cancel = &cancelled_;
  bool reached = false;
  auto sent = send_once(request, reached);
  if (sent) return sent;
  delivery_.mark_dead();
  const bool harmless =
      request.method == "GET" || request.method == "HEAD" || request.method == "PUT";
  if (reached && !harmless) return sent;
  return send_once(request, reached);
}

Result<http::Response> Upstream::forward(const http::Request& request) {
  sys::HttpRequest out{.path = {}, .body = request.body};
  out.timeout = kTimeout + std::chrono::seconds(request.body.size() / kBytesPerSecond);
  return forward(request, std::move(out));
}

Result<http::Response> Upstream::forward(const http::Request& request, const sys::Fd& body) {
  struct stat facts {};
  if (::fstat(body.get(), &facts) != 0) return fail_errno("the request's body", errno);
  sys::HttpRequest out{.path = {}, .body = {}, .content_type = "application/octet-stream"};
  out.file = body.get();
  out.file_bytes = facts.st_size;
  out.timeout =
      kTimeout + std::chrono::seconds(static_cast<std::size_t>(facts.st_size) / kBytesPerSecond);
  return forward(request, std::move(out));
}

Result<sys::Fd> Upstream::body_file() { return unlinked_file(options_.directory); }

Result<http::Response> Upstream::forward(const http::Request& request, sys::HttpRequest out) {
  out.method = std::string(http::method_name(request.method));
  out.path = request_target(request);
  if (const auto type = request.header("content-type"); !type.empty())
    out.content_type = std::string(type);
  for (const auto& [name, value] : request.headers) {
    if (std::ranges::find(kOwn, name) == kOwn.end()) out.headers.emplace_back(name, value);
  }
  Sent sent = TRY(send(std::move(out)));
  http::Response response;
  response.status = sent.head.status;
  for (const auto& [name, value] : sent.head.headers) {
    if (std::ranges::find(kNotPassedBack, name) == kNotPassedBack.end())
      response.headers.emplace_back(name, value);
  }
  std::move(sent.body).move_to(response);
  return response;
}

Result<sys::HttpReply> Upstream::get(const std::string& path) {
  Sent sent = TRY(send({.path = path, .body = {}}));
  if (!sent.body.whole_in_memory())
    return fail(Code::kTooLarge, path + ": the answer is longer than a run can be");
  sent.head.body = std::move(sent.body).text();
  return sent.head;
}

}  // namespace corral::run
