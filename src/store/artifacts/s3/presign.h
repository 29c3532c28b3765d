// Makes a URL that lets its holder make one kind of request to S3 for a limited time (AWS Signature
// Version 4 in the query). Pure; requests of the server itself are signed by libcurl.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/time.h"
#include "store/artifacts/s3/settings.h"

namespace corral::store::artifacts {

struct Presigned {
  std::string_view method;                                   // "PUT"
  std::string_view key;                                      // not encoded
  std::vector<std::pair<std::string, std::string>> query{};  // not encoded
  UtcTime now;
  std::chrono::seconds valid{3600};
};
std::string presigned_url(const S3Settings& settings, const Presigned& what);

// SHA-256 as 64 lower-case hex digits.
std::string hex_digest(std::string_view text);
// Every byte but RFC 3986's unreserved ones and '/' as %XX.
std::string encode_key(std::string_view key);

}  // namespace corral::store::artifacts
