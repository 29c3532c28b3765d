#include "store/artifacts/s3/presign.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <ctime>

#include "core/sha256.h"
#include "core/text.h"
#include "sys/http_client.h"

namespace corral::store::artifacts {
namespace {

std::string_view bytes_of(const Sha256& digest) {
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
    key = hmac_sha256(bytes_of(key), part);
  }
  return hex(key);
}

}  // namespace

std::string hex_digest(std::string_view text) { return hex(sha256(text)); }

std::string encode_key(std::string_view key) {
  std::string out;
  for (const std::string_view segment : split(key, '/'))
    out.append(out.empty() ? "" : "/").append(sys::url_encode(segment));
  return out;
}

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

}  // namespace corral::store::artifacts
