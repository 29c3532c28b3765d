#include "http/range.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "core/text.h"

namespace corral::http {
namespace {

constexpr std::string_view kUnit = "bytes=";

// Digits alone; nothing for none and for more than 64 bits.
std::optional<std::uint64_t> parse_position(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

Span part(std::uint64_t offset, std::uint64_t length) {
  return {.status = 206, .offset = offset, .length = length};
}

}  // namespace

Span requested_span(const Request& request, std::uint64_t size, std::string_view etag) {
  const Span whole{.status = 200, .offset = 0, .length = size};
  constexpr Span kNothing{.status = 416};
  const std::string_view header = request.header("range");
  const std::string_view condition = request.header("if-range");
  if (!header.starts_with(kUnit) || (!condition.empty() && condition != etag)) return whole;
  const std::string_view text = trim(header.substr(kUnit.size()));
  const std::size_t dash = text.find('-');
  if (dash == std::string_view::npos) return whole;
  const auto last = parse_position(text.substr(dash + 1));
  if (dash == 0) {
    if (!last) return whole;
    const std::uint64_t length = std::min(*last, size);
    return length == 0 ? kNothing : part(size - length, length);
  }
  const auto first = parse_position(text.substr(0, dash));
  const bool open = dash + 1 == text.size();
  if (!first || (!open && !last) || (last && *last < *first)) return whole;
  if (*first >= size) return kNothing;
  const std::uint64_t end = open ? size - 1 : std::min(*last, size - 1);
  return part(*first, end - *first + 1);
}

void set_span(Response& response, const Span& span, std::uint64_t size) {
  response.status = span.status;
  response.set_header("Accept-Ranges", "bytes");
  if (span.status == 416) {
    response.set_header("Content-Range", fmt::format("bytes */{}", size));
    return;
  }
  if (span.status == 206) {
    response.set_header("Content-Range", fmt::format("bytes {}-{}/{}", span.offset,
                                                     span.offset + span.length - 1, size));
  }
  response.stream_length = span.length;
}

}  // namespace corral::http
