#include "sys/http_client.h"

#include <curl/curl.h>
#include <fmt/core.h>
#include <sys/socket.h>
#include <unistd.h>

#include <mutex>
#include <optional>

#include "core/text.h"
#include "sys/certificates.h"
#include "sys/socket.h"
#include "sys/store_paths.h"

// libcurl brings in GnuTLS for schemes that are not used here. Its start-up asks this whether to
// leave itself out, which saves every program a millisecond and a MB (gnutls.h,
// GNUTLS_SKIP_GLOBAL_INIT).
// NOLINTNEXTLINE(bugprone-reserved-identifier,readability-identifier-naming): its name for it
extern "C" __attribute__((visibility("default"))) int _gnutls_global_init_skip() { return 1; }

namespace corral::sys {

struct HttpClient::Handle {
  CURL* easy = ::curl_easy_init();
  Handle() = default;
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  ~Handle() { ::curl_easy_cleanup(easy); }
};

namespace {

using Take = std::function<bool(std::string_view)>;

std::size_t on_data(char* data, std::size_t size, std::size_t n, void* context) {
  const auto& take = *static_cast<const Take*>(context);
  return take({data, size * n}) ? size * n : 0;
}

// One line of the answer's head. A status line begins a new head: that of a "100 Continue" is not
// the answer's.
std::size_t on_header(char* data, std::size_t size, std::size_t n, void* context) {
  auto& fields = *static_cast<HttpFields*>(context);
  const std::string_view line(data, size * n);
  const std::size_t colon = line.find(':');
  if (line.starts_with("HTTP/")) {
    fields.clear();
  } else if (colon != std::string_view::npos) {
    fields.emplace_back(lower_ascii(line.substr(0, colon)), trim(line.substr(colon + 1)));
  }
  return size * n;
}

std::size_t on_read(char* data, std::size_t size, std::size_t n, void* context) {
  const ssize_t got = ::read(*static_cast<const int*>(context), data, size * n);
  return got < 0 ? CURL_READFUNC_ABORT : static_cast<std::size_t>(got);
}

int on_progress(void* cancel, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
  return static_cast<const std::atomic<bool>*>(cancel)->load() ? 1 : 0;
}

// Looks whose server answers a Unix socket, when libcurl has connected and before it sends
// anything. A connection that is used again was looked at when it was new.
struct UnixDoor {
  std::string path;  // empty: none
  int opened = -1;
  std::optional<Error> refusal;

  void use(CURL* easy) {
    if (path.empty()) return;
    ::curl_easy_setopt(easy, CURLOPT_UNIX_SOCKET_PATH, path.c_str());
    ::curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, &UnixDoor::open);
    ::curl_easy_setopt(easy, CURLOPT_OPENSOCKETDATA, this);
    ::curl_easy_setopt(easy, CURLOPT_PREREQFUNCTION, &UnixDoor::check);
    ::curl_easy_setopt(easy, CURLOPT_PREREQDATA, this);
  }
  static curl_socket_t open(void* door, curlsocktype, curl_sockaddr* address) {
    auto& self = *static_cast<UnixDoor*>(door);
    const auto file = check_socket_file(self.path);
    if (!file && file.error().code == Code::kPermission) self.refusal = file.error();
    if (!file) return CURL_SOCKET_BAD;
    const int type = address->socktype | SOCK_CLOEXEC;
    return self.opened = ::socket(address->family, type, address->protocol);
  }
  static int check(void* door, char*, char*, int, int) {
    auto& self = *static_cast<UnixDoor*>(door);
    const auto peer = self.opened < 0 ? Result<>() : check_peer(self.opened, self.path);
    if (peer) return CURL_PREREQFUNC_OK;
    self.refusal = peer.error();
    return CURL_PREREQFUNC_ABORT;
  }
};

struct HeaderList {
  curl_slist* list = nullptr;
  HeaderList() = default;
  HeaderList(const HeaderList&) = delete;
  HeaderList& operator=(const HeaderList&) = delete;
  ~HeaderList() { ::curl_slist_free_all(list); }
  void add(const std::string& line) { list = ::curl_slist_append(list, line.c_str()); }
};

}  // namespace

HttpClient::HttpClient(HttpTarget target) : target_(std::move(target)) {
  static std::once_flag once;
  std::call_once(once, [] { ::curl_global_init(CURL_GLOBAL_DEFAULT); });
  handle_ = std::make_unique<Handle>();
  CORRAL_ASSERT(handle_->easy != nullptr);
}
HttpClient::HttpClient(HttpClient&&) noexcept = default;
HttpClient& HttpClient::operator=(HttpClient&&) noexcept = default;
HttpClient::~HttpClient() = default;

Result<HttpReply> HttpClient::send(const HttpRequest& request) {
  HttpReply reply;
  const auto keep = [&](std::string_view piece) {
    reply.body.append(piece);
    return true;
  };
  reply.status = TRY(perform(request, keep, nullptr));
  return reply;
}

Result<int> HttpClient::stream(const HttpRequest& request, const Take& take) {
  return perform(request, take, nullptr);
}

Result<HttpReply> HttpClient::exchange(const HttpRequest& request, const Take& take) {
  HttpReply reply;
  reply.status = TRY(perform(request, take, &reply.headers));
  return reply;
}

void HttpClient::set_body(const HttpRequest& request) {
  CURL* easy = handle_->easy;
  if (request.file >= 0) {
    ::curl_easy_setopt(easy, CURLOPT_UPLOAD, 1L);
    ::curl_easy_setopt(easy, CURLOPT_INFILESIZE_LARGE, static_cast<curl_off_t>(request.file_bytes));
    ::curl_easy_setopt(easy, CURLOPT_READFUNCTION, on_read);
    ::curl_easy_setopt(easy, CURLOPT_READDATA, &request.file);
  } else if (request.method == "POST" || !request.body.empty()) {
    ::curl_easy_setopt(easy, CURLOPT_POST, 1L);
    ::curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE,
                       static_cast<curl_off_t>(request.body.size()));
    ::curl_easy_setopt(easy, CURLOPT_POSTFIELDS, request.body.data());
  }
  if (request.method == "HEAD") {
    ::curl_easy_setopt(easy, CURLOPT_NOBODY, 1L);
  } else if (request.method != "GET" && request.method != "POST") {
    ::curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, request.method.c_str());
  }
}

Result<int> HttpClient::perform(const HttpRequest& request, const Take& take, HttpFields* fields) {
  CURL* easy = handle_->easy;
  ::curl_easy_reset(easy);  // keeps the connection
  const std::string url = target_.base_url + request.path;
  HeaderList headers;
  headers.add("Expect:");
  if (request.file >= 0 || !request.body.empty() || request.method == "POST")
    headers.add("Content-Type: " + request.content_type);
  for (const auto& [name, value] : request.headers) headers.add(fmt::format("{}: {}", name, value));
  if (!target_.token.empty()) headers.add("Authorization: Bearer " + target_.token);
  const auto milliseconds =
      std::chrono::duration_cast<std::chrono::milliseconds>(request.timeout).count();
  ::curl_easy_setopt(easy, CURLOPT_URL, url.c_str());
  ::curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
  const std::string& authorities = target_.ca_file.empty() ? certificate_file() : target_.ca_file;
  if (!authorities.empty()) ::curl_easy_setopt(easy, CURLOPT_CAINFO, authorities.c_str());
  if (!target_.ca_file.empty()) ::curl_easy_setopt(easy, CURLOPT_CAPATH, nullptr);
  ::curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
  ::curl_easy_setopt(easy, CURLOPT_NOPROXY, "127.0.0.1,localhost,::1");
  ::curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, static_cast<long>(milliseconds));
  ::curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, 5000L);
  ::curl_easy_setopt(easy, CURLOPT_HTTPHEADER, headers.list);
  ::curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_data);
  ::curl_easy_setopt(easy, CURLOPT_WRITEDATA, &take);
  UnixDoor door{.path = target_.unix_socket, .opened = -1, .refusal = {}};
  door.use(easy);
  set_body(request);
  if (request.cancel != nullptr) {
    ::curl_easy_setopt(easy, CURLOPT_NOPROGRESS, 0L);
    ::curl_easy_setopt(easy, CURLOPT_XFERINFOFUNCTION, on_progress);
    ::curl_easy_setopt(easy, CURLOPT_XFERINFODATA, request.cancel);
  }
  if (fields != nullptr) {
    ::curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, on_header);
    ::curl_easy_setopt(easy, CURLOPT_HEADERDATA, fields);
  }
  const CURLcode code = ::curl_easy_perform(easy);
  reached_ = code != CURLE_COULDNT_CONNECT && code != CURLE_COULDNT_RESOLVE_HOST && !door.refusal;
  if (door.refusal) return tl::unexpected(*door.refusal);
  if (code == CURLE_COULDNT_CONNECT && door.path.empty())
    return fail(Code::kUnavailable, "no server at " + without_passwords(target_.base_url));
  if (code == CURLE_SSL_CACERT_BADFILE)
    return fail(Code::kUnavailable,
                fmt::format("{} holds no certificates of authorities (PEM)", authorities));
  if (code == CURLE_PEER_FAILED_VERIFICATION) {
    return fail(
        Code::kUnavailable,
        fmt::format(
            "{}: the server's certificate is not trusted, or is for another name: "
            "--ca-file or CORRAL_CA_FILE names a file with the certificate of its authority",
            without_passwords(target_.base_url)));
  }
  if (code != CURLE_OK) {
    return fail(Code::kUnavailable,
                fmt::format("{} {}{}: {}", request.method, without_passwords(target_.base_url),
                            request.path, ::curl_easy_strerror(code)));
  }
  long status = 0;
  ::curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
  return static_cast<int>(status);
}

std::string url_encode(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const bool plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                       std::string_view("-._~").find(c) != std::string_view::npos;
    out += plain ? std::string(1, c)
                 : fmt::format("%{:02X}", static_cast<unsigned>(static_cast<unsigned char>(c)));
  }
  return out;
}

}  // namespace corral::sys
