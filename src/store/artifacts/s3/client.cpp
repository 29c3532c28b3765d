#include "store/artifacts/s3/client.h"

#include <curl/curl.h>
#include <fmt/core.h>
#include <pugixml.hpp>

#include <algorithm>
#include <array>
#include <ctime>

#include "core/sha256.h"
#include "core/text.h"
#include "sys/certificates.h"
#include "sys/clock.h"
#include "sys/http_client.h"

namespace corral::store::artifacts {

// ---- signed URLs
namespace {

std::string_view as_text(const Sha256& digest) {
  return {reinterpret_cast<const char*>(digest.data()), digest.size()};
}

// "20130524T000000Z"
std::string timestamp(UtcTime now) {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(now.time_since_epoch());
  const auto time = static_cast<std::time_t>(seconds.count());
  std::tm utc{};
  gmtime_r(&time, &utc);
  std::array<char, 32> text{};
  const std::size_t n = std::strftime(text.data(), text.size(), "%Y%m%dT%H%M%SZ", &utc);
  return {text.data(), n};
}

struct Address {
  std::string_view host;  // with its port
  std::string_view path;  // path of the bucket, empty or "/..."
};

Address split_url(std::string_view url) {
  url.remove_prefix(url.find("://") + 3);
  const std::size_t slash = std::min(url.find('/'), url.size());
  return {.host = url.substr(0, slash), .path = url.substr(slash)};
}

std::string canonical_query(std::vector<std::pair<std::string, std::string>> query) {
  for (auto& [name, value] : query) {
    name = sys::url_encode(name);
    value = sys::url_encode(value);
  }
  std::ranges::sort(query);
  std::string text;
  for (const auto& [name, value] : query)
    text += fmt::format("{}{}={}", text.empty() ? "" : "&", name, value);
  return text;
}

std::string signature(const S3Settings& settings, std::string_view date, std::string_view text) {
  Sha256 key = hmac_sha256("AWS4" + settings.keys.secret, date);
  for (const std::string_view part : {std::string_view(settings.region), std::string_view("s3"),
                                      std::string_view("aws4_request"), text}) {
    key = hmac_sha256(as_text(key), part);
  }
  return hex(key);
}

// SHA-256 as 64 lower-case hex digits.
std::string hex_digest(std::string_view text) { return hex(sha256(text)); }

// Every byte but RFC 3986's unreserved ones and '/' as %XX.
std::string encode_key(std::string_view key) {
  std::string out;
  for (const std::string_view segment : split(key, '/'))
    out.append(out.empty() ? "" : "/").append(sys::url_encode(segment));
  return out;
}

}  // namespace

std::string presigned_url(const S3Settings& settings, const Presigned& what) {
  const Address address = split_url(settings.base_url);
  const std::string time = timestamp(what.now);
  const std::string_view date = std::string_view(time).substr(0, 8);
  const std::string scope = fmt::format("{}/{}/s3/aws4_request", date, settings.region);
  auto query = what.query;
  query.emplace_back("X-Amz-Algorithm", "AWS4-HMAC-SHA256");
  query.emplace_back("X-Amz-Credential", fmt::format("{}/{}", settings.keys.access, scope));
  query.emplace_back("X-Amz-Date", time);
  query.emplace_back("X-Amz-Expires", std::to_string(what.valid.count()));
  query.emplace_back("X-Amz-SignedHeaders", "host");
  if (!settings.keys.session.empty())
    query.emplace_back("X-Amz-Security-Token", settings.keys.session);
  const std::string path = fmt::format("{}/{}", address.path, encode_key(what.key));
  const std::string sent = canonical_query(std::move(query));
  const std::string canonical = fmt::format("{}\n{}\n{}\nhost:{}\n\nhost\nUNSIGNED-PAYLOAD",
                                            what.method, path, sent, address.host);
  const std::string to_sign =
      fmt::format("AWS4-HMAC-SHA256\n{}\n{}\n{}", time, scope, hex_digest(canonical));
  return fmt::format("{}/{}?{}&X-Amz-Signature={}", settings.base_url, encode_key(what.key), sent,
                     signature(settings, date, to_sign));
}

// ---- XML
namespace {

// The root element of that name, or kIo. No entities but XML's own: pugixml knows no DTD.
Result<pugi::xml_node> parse_root(pugi::xml_document& document, std::string_view xml,
                                  const char* name) {
  const pugi::xml_parse_result parsed = document.load_buffer(xml.data(), xml.size());
  const pugi::xml_node root = document.child(name);
  if (!parsed || !root)
    return fail(Code::kIo,
                fmt::format("S3's answer is no {}: {}", name,
                            to_utf8(xml.substr(0, std::min<std::size_t>(xml.size(), 200)))));
  return root;
}

}  // namespace

Result<KeyPage> parse_key_page(std::string_view xml) {
  pugi::xml_document document;
  const pugi::xml_node root = TRY(parse_root(document, xml, "ListBucketResult"));
  KeyPage page;
  for (const pugi::xml_node item : root.children("Contents")) {
    const auto size = parse_int(item.child_value("Size"));
    const std::string key = item.child_value("Key");
    if (key.empty() || !size || *size < 0)
      return fail(Code::kIo, "S3's list holds an object without key or size");
    page.keys.push_back({.key = key, .size = static_cast<std::uint64_t>(*size)});
  }
  for (const pugi::xml_node item : root.children("CommonPrefixes"))
    page.prefixes.emplace_back(item.child_value("Prefix"));
  if (std::string_view(root.child_value("IsTruncated")) == "true") {
    page.next = root.child_value("NextContinuationToken");
    if (page.next.empty()) return fail(Code::kIo, "S3's list goes on, but does not say where");
  }
  return page;
}

Result<std::string> parse_upload_id(std::string_view xml) {
  pugi::xml_document document;
  const pugi::xml_node root = TRY(parse_root(document, xml, "InitiateMultipartUploadResult"));
  std::string id = root.child_value("UploadId");
  if (id.empty()) return fail(Code::kIo, "S3 started an upload without an id");
  return id;
}

std::string completion_xml(std::span<const UploadedPart> parts) {
  std::string xml = "<CompleteMultipartUpload xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">";
  for (const UploadedPart& part : parts) {
    xml += fmt::format("<Part><PartNumber>{}</PartNumber><ETag>", part.number);
    xml += escaped_xml(part.etag);
    xml += "</ETag></Part>";
  }
  return xml + "</CompleteMultipartUpload>";
}

// ---- requests
namespace {

// "NoSuchKey: The specified key does not exist."; empty when the text is no <Error>.
struct S3Error {
  std::string code;
  std::string message;
};
S3Error parse_s3_error(std::string_view xml) {
  pugi::xml_document document;
  if (!document.load_buffer(xml.data(), xml.size())) return {};
  const pugi::xml_node root = document.child("Error");
  return {.code = root.child_value("Code"), .message = root.child_value("Message")};
}

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

std::string request_url(const S3Settings& settings, const S3Request& request) {
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
  if (!sys::certificate_file().empty())
    ::curl_easy_setopt(easy, CURLOPT_CAINFO, sys::certificate_file().c_str());
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

Code to_code(int status, std::string_view s3_code) {
  if (is_passing(status)) return Code::kUnavailable;
  if (status == 507) return Code::kNoSpace;
  if (status == 412) return Code::kConflict;
  if (status == 404 && s3_code != "NoSuchBucket") return Code::kNotFound;
  if (status == 400 && (s3_code == "InvalidPart" || s3_code == "InvalidPartOrder" ||
                        s3_code == "EntityTooSmall" || s3_code == "MalformedXML"))
    return Code::kInvalidArgument;
  return Code::kPermission;  // keys, region or bucket are not what S3 expects: trying again is vain
}

Error to_error(const S3Settings& settings, const S3Request& request, int status,
               const S3Answer& answer) {
  const S3Error said = parse_s3_error(answer.body);
  std::string message =
      fmt::format("s3://{}/{}: S3 answered {}", settings.bucket, request.key, status);
  if (!said.code.empty()) message += fmt::format(" {}: {}", said.code, said.message);
  return {to_code(status, said.code), std::move(message)};
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

std::unique_ptr<S3Client::Connection> S3Client::borrow_connection() {
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
    std::unique_ptr<Connection> connection = borrow_connection();
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
  ::curl_easy_setopt(easy, CURLOPT_URL, request_url(settings_, request).c_str());
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
                to_error(settings_, request, static_cast<int>(status), incoming.answer)),
            .again = is_passing(static_cast<int>(status))};
  }
  curl_off_t length = 0;
  ::curl_easy_getinfo(easy, CURLINFO_CONTENT_LENGTH_DOWNLOAD_T, &length);
  incoming.answer.content_length = static_cast<std::uint64_t>(std::max<curl_off_t>(length, 0));
  return {.answer = std::move(incoming.answer)};
}

}  // namespace corral::store::artifacts
