// Determines the part of a file that a request asks for (RFC 9110, 14): Range and If-Range, one
// range of bytes. Pure.
#pragma once

#include <cstdint>
#include <string_view>

#include "http/request.h"
#include "http/response.h"

namespace corral::http {

struct Span {
  int status = 200;  // 206 for a part, 416 if no byte of the range exists
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
};

// Returns the requested part of a file of `size` bytes whose version is `etag` (quoted; may be
// empty). The whole file for a Range of another unit, of several ranges or with a mistake, and when
// If-Range names another version: a server may ignore a Range.
Span requested_span(const Request& request, std::uint64_t size, std::string_view etag);

// Sets status, Accept-Ranges, Content-Range, and the length of the stream that the caller adds (for
// 416: an empty body).
void set_span(Response& response, const Span& span, std::uint64_t size);

}  // namespace corral::http
