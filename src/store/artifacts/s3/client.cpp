#include "store/artifacts/s3/client.h"

#include <curl/curl.h>
#include <fmt/core.h>

#include <algorithm>

#include "core/text.h"
#include "store/artifacts/s3/answers.h"
#include "store/artifacts/s3/presign.h"
#include "sys/clock.h"
#include "sys/http_client.h"

namespace corral::store::artifacts {
namespace {

constexpr std::size_t kAnswerBytes = 16u << 20;  // a list of 1,000 keys is a tenth of it
constexpr std::size_t kIdleConnections = 8;
constexpr long kConnectMilliseconds = 5000;
constexpr long kExpectMilliseconds = 100;
// Slower than this for so long is a dead connection.
constexpr long kSlowBytesPerSecond = 1024;
constexpr long kSlowSeconds = 30;

struct HeaderList {
  curl_slist* list = nullptr;
  HeaderList() = default;
  HeaderList(const HeaderList&) = delete;
  HeaderList& operator=(const HeaderList&) = delete;
  ~HeaderList() { ::curl_slist_free_all(list); }
  void add(const std::string& line) { list = ::curl_slist_append(list, line.c_str()); }
};

// Filled by one answer's callbacks.
struct Incoming {
  CURL* easy = nullptr;
  const Take* take = nullptr;
  S3Answer answer{};
  bool delivered = false;  // to `take`
  bool stopped = false;    // by `take`

  std::size_t on_data(std::string_view piece) {
    long status = 0;
    ::curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
    if (take != nullptr && status < 300) {
      delivered = true;
      stopped = !(*take)(piece);
      return stopped ? 0 : piece.size();
    }
    if (answer.body.size() + piece.size() > kAnswerBytes) return 0;
    answer.body.append(piece);
    return piece.size();
  }

  std::size_t on_header(std::string_view line) {
    const std::size_t colon = line.find(':');
    if (colon == 4 && ::strncasecmp(line.data(), "etag", 4) == 0)
      answer.etag = trim(line.substr(colon + 1));
    return line.size();
  }
};

std::size_t take_data(char* data, std::size_t size, std::size_t n, void* context) {
  try {
    return static_cast<Incoming*>(context)->on_data({data, size * n});
  } catch (const std::exception&) {
    return 0;  // a C library calls: the transfer fails instead
  }
}

std::size_t take_header(char* data, std::size_t size, std::size_t n, void* context) {
  try {
    return static_cast<Incoming*>(context)->on_header({data, size * n});
  } catch (const std::exception&) {
    return 0;
  }
}

std::string url_of(const S3Settings& settings, const S3Request& request) {
  std::string url = settings.base_url + "/" + encode_key(request.key);
  char separator = '?';
  for (const auto& [name, value] : request.query) {
    // Always with '=': that is how it is signed.
    url += fmt::format("{}{}={}", separator, sys::url_encode(name), sys::url_encode(value));
    separator = '&';
  }
  return url;
}

void set_method(CURL* easy, const S3Request& request) {
  if (request.method == "HEAD") {
    ::curl_easy_setopt(easy, CURLOPT_NOBODY, 1L);
  } else if (request.method == "PUT" || request.method == "POST") {
    // As POST fields: sent from where they lie.
    ::curl_easy_setopt(easy, CURLOPT_POST, 1L);
    ::curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE,
                       static_cast<curl_off_t>(request.body.size()));
    ::curl_easy_setopt(easy, CURLOPT_POSTFIELDS, request.body.empty() ? "" : request.body.data());
    ::curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, std::string(request.method).c_str());
  } else if (request.method != "GET") {
    ::curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, std::string(request.method).c_str());
  }
}

void set_limits(CURL* easy) {
  ::curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
  ::curl_easy_setopt(easy, CURLOPT_NOPROXY, "127.0.0.1,localhost,::1");
  ::curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
  ::curl_easy_setopt(easy, CURLOPT_PATH_AS_IS, 1L);
  ::curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, kConnectMilliseconds);
  // A server that ignores "Expect: 100-continue" (which cannot be left out of a signed request)
  // gets the body.
  ::curl_easy_setopt(easy, CURLOPT_EXPECT_100_TIMEOUT_MS, kExpectMilliseconds);
  ::curl_easy_setopt(easy, CURLOPT_LOW_SPEED_LIMIT, kSlowBytesPerSecond);
  ::curl_easy_setopt(easy, CURLOPT_LOW_SPEED_TIME, kSlowSeconds);
}

bool is_passing(int status) {
  return status == 408 || status == 429 || (status >= 500 && status != 501 && status != 507);
}

Code code_of(int status, std::string_view s3_code) {
  if (is_passing(status)) return Code::kUnavailable;
  if (status == 507) return Code::kNoSpace;
  if (status == 412) return Code::kConflict;
  if (status == 404 && s3_code != "NoSuchBucket") return Code::kNotFound;
  if (status == 400 && (s3_code == "InvalidPart" || s3_code == "InvalidPartOrder" ||
                        s3_code == "EntityTooSmall" || s3_code == "MalformedXML"))
    return Code::kInvalidArgument;
  return Code::kPermission;  // keys, region or bucket are not what S3 expects: trying again is vain
}

Error error_of(const S3Settings& settings, const S3Request& request, int status,
               const S3Answer& answer) {
  const S3Error said = parse_s3_error(answer.body);
  std::string message =
      fmt::format("s3://{}/{}: S3 answered {}", settings.bucket, request.key, status);
  if (!said.code.empty()) message += fmt::format(" {}: {}", said.code, said.message);
  return {code_of(status, said.code), std::move(message)};
}

}  // namespace

struct S3Client::Connection {
  CURL* easy = ::curl_easy_init();
  Connection() = default;
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  ~Connection() { ::curl_easy_cleanup(easy); }
};

struct S3Client::Outcome {
  Result<S3Answer> answer;
  bool again = false;  // may be tried again
};

S3Client::S3Client(S3Settings settings) : settings_(std::move(settings)) {
  static std::once_flag once;
  std::call_once(once, [] { ::curl_global_init(CURL_GLOBAL_DEFAULT); });
}

S3Client::~S3Client() = default;

std::unique_ptr<S3Client::Connection> S3Client::take_connection() {
  const Lock lock(mutex_);
  if (idle_.empty()) return std::make_unique<Connection>();
  std::unique_ptr<Connection> connection = std::move(idle_.back());
  idle_.pop_back();
  return connection;
}

void S3Client::give_back(std::unique_ptr<Connection> connection) {
  const Lock lock(mutex_);
  if (idle_.size() < kIdleConnections) idle_.push_back(std::move(connection));
}

void S3Client::pause_before(int n) const {
  sys::system_clock().sleep_until(sys::boot_now() + settings_.first_pause * (1 << (n - 2)));
}

Result<S3Answer> S3Client::send(const S3Request& request) {
  for (int n = 1;; ++n) {
    std::unique_ptr<Connection> connection = take_connection();
    CORRAL_ASSERT(connection->easy != nullptr);
    Outcome outcome = perform(*connection, request);
    give_back(std::move(connection));
    if (!outcome.again || n == settings_.tries) return std::move(outcome.answer);
    pause_before(n + 1);
  }
}

S3Client::Outcome S3Client::perform(Connection& connection, const S3Request& request) const {
  CURL* easy = connection.easy;
  ::curl_easy_reset(easy);  // keeps the connection
  Incoming incoming{.easy = easy, .take = request.take};
  HeaderList headers;
  // Part of the signature. Every header given here is, so none may be empty.
  headers.add("x-amz-content-sha256: " + hex_digest(request.body));
  if (request.method == "PUT" || request.method == "POST")
    headers.add("Content-Type: application/octet-stream");
  if (!settings_.keys.session.empty())
    headers.add("x-amz-security-token: " + settings_.keys.session);
  for (const std::string& line : request.headers) headers.add(line);
  set_limits(easy);
  set_method(easy, request);
  ::curl_easy_setopt(easy, CURLOPT_URL, url_of(settings_, request).c_str());
  ::curl_easy_setopt(easy, CURLOPT_AWS_SIGV4,
                     fmt::format("aws:amz:{}:s3", settings_.region).c_str());
  ::curl_easy_setopt(easy, CURLOPT_USERNAME, settings_.keys.access.c_str());
  ::curl_easy_setopt(easy, CURLOPT_PASSWORD, settings_.keys.secret.c_str());
  ::curl_easy_setopt(easy, CURLOPT_HTTPHEADER, headers.list);
  ::curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, take_data);
  ::curl_easy_setopt(easy, CURLOPT_WRITEDATA, &incoming);
  ::curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, take_header);
  ::curl_easy_setopt(easy, CURLOPT_HEADERDATA, &incoming);
  const CURLcode code = ::curl_easy_perform(easy);
  if (incoming.stopped) return {.answer = std::move(incoming.answer)};
  if (code != CURLE_OK) {
    return {.answer = fail(Code::kUnavailable,
                           fmt::format("s3://{}/{} at {}: {}", settings_.bucket, request.key,
                                       settings_.base_url, ::curl_easy_strerror(code))),
            .again = !incoming.delivered};
  }
  long status = 0;
  ::curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
  // CompleteMultipartUpload may fail after its 200 was sent.
  if (status == 200 && request.method == "POST" &&
      !parse_s3_error(incoming.answer.body).code.empty())
    status = 500;
  if (status < 200 || status >= 300) {
    return {.answer = tl::unexpected(
                error_of(settings_, request, static_cast<int>(status), incoming.answer)),
            .again = is_passing(static_cast<int>(status))};
  }
  curl_off_t length = 0;
  ::curl_easy_getinfo(easy, CURLINFO_CONTENT_LENGTH_DOWNLOAD_T, &length);
  incoming.answer.content_length = static_cast<std::uint64_t>(std::max<curl_off_t>(length, 0));
  return {.answer = std::move(incoming.answer)};
}

}  // namespace corral::store::artifacts
