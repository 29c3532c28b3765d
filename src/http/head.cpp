#include "http/head.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <utility>

#include "core/text.h"

namespace corral::http {
namespace {

constexpr std::size_t kShownBytes = 64;  // length of a quoted mistake in a message

// Headers that may come once; the meaning of a second one is undefined.
constexpr std::array<std::string_view, 8> kSingle = {
    "host",   "content-length", "transfer-encoding", "authorization",
    "origin", "content-type",   "content-encoding",  "expect"};

bool is_token(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
  });
}

bool is_control(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte < 0x20 || byte == 0x7f;
}

HeadFault bad(std::string message) { return {.status = 400, .message = std::move(message)}; }

std::string shown(std::string_view text) { return to_utf8(text.substr(0, kShownBytes)); }

// The next line of `rest` without its CRLF, or its fault.
std::optional<HeadFault> next_line(std::string_view& rest, std::string_view& line) {
  const std::size_t end = std::min(rest.find_first_of("\r\n"), rest.size());
  if (!rest.substr(end).starts_with("\r\n")) return bad("every line of a head must end in CR LF");
  line = rest.substr(0, end);
  rest.remove_prefix(end + 2);
  return std::nullopt;
}

std::optional<HeadFault> check_request_line(std::string_view line) {
  const std::size_t first = line.find(' ');
  const std::size_t last = line.rfind(' ');
  if (first == std::string_view::npos || first == last)
    return bad("the first line must be 'METHOD /path HTTP/1.1'");
  const std::string_view target = line.substr(first + 1, last - first - 1);
  const std::string_view version = line.substr(last + 1);
  if (!is_token(line.substr(0, first))) return bad("the method is not a word");
  if (version != "HTTP/1.1" && version != "HTTP/1.0")
    return bad(fmt::format("'{}' is neither HTTP/1.1 nor HTTP/1.0", shown(version)));
  if (target.size() > kTargetBytes) {
    return HeadFault{.status = 414,
                     .message = fmt::format("a request's path with its query is at most {} bytes",
                                            kTargetBytes)};
  }
  const bool clean = std::ranges::all_of(target, [](char c) { return c > 0x20 && c < 0x7f; });
  if (target.empty() || !clean) return bad("the path contains bytes that must be %-encoded");
  return std::nullopt;
}

// The fields that decide where the request ends, and those that were present.
class Fields {
 public:
  std::optional<HeadFault> add(std::string_view line) {
    if (++count_ > kHeadFields) {
      return HeadFault{.status = 431,
                       .message = fmt::format("a request has at most {} headers", kHeadFields)};
    }
    if (line.starts_with(' ') || line.starts_with('\t'))
      return bad("a header that continues on the next line (obs-fold) is not accepted");
    const std::size_t colon = line.find(':');
    const std::string_view name = line.substr(0, colon);
    if (colon == std::string_view::npos)
      return bad(fmt::format("the header '{}' has no colon", shown(line)));
    if (name.ends_with(' ') || name.ends_with('\t'))
      return bad(fmt::format("white space before the colon of the header '{}'", shown(name)));
    if (!is_token(name)) return bad(fmt::format("'{}' is not a name of a header", shown(name)));
    const std::string_view value = line.substr(colon + 1);
    const auto forbidden = [](char c) { return c != '\t' && is_control(c); };
    if (std::ranges::any_of(value, forbidden))
      return bad(fmt::format("the header '{}' contains a control character", shown(name)));
    return note(name, trim(value));
  }

  [[nodiscard]] std::optional<HeadFault> check(bool http_1_1) const {
    if (seen("content-length") && seen("transfer-encoding"))
      return bad("Content-Length and Transfer-Encoding exclude each other");
    if (seen("transfer-encoding") && !http_1_1)
      return bad("HTTP/1.0 does not support Transfer-Encoding");
    return std::nullopt;
  }

 private:
  std::optional<HeadFault> note(std::string_view name, std::string_view value) {
    const auto same = [name](std::string_view known) { return equal_ignoring_case(known, name); };
    const auto* const known = std::ranges::find_if(kSingle, same);
    if (known == kSingle.end()) return std::nullopt;
    bool& before = seen_.at(static_cast<std::size_t>(known - kSingle.begin()));
    if (std::exchange(before, true)) return bad(fmt::format("two {} headers", *known));
    const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
    if (*known == "content-length" && (value.empty() || !std::ranges::all_of(value, is_digit)))
      return bad(fmt::format("Content-Length '{}' is not a number", shown(value)));
    if (*known == "transfer-encoding" && !equal_ignoring_case(value, "chunked")) {
      return HeadFault{
          .status = 501,
          .message = fmt::format("Transfer-Encoding '{}': only chunked is accepted", shown(value))};
    }
    return std::nullopt;
  }
  [[nodiscard]] bool seen(std::string_view name) const {
    return seen_.at(static_cast<std::size_t>(std::ranges::find(kSingle, name) - kSingle.begin()));
  }

  std::size_t count_ = 0;
  std::array<bool, kSingle.size()> seen_{};
};

}  // namespace

std::size_t head_length(std::string_view bytes, std::size_t seen) {
  for (std::size_t at = bytes.find('\n', seen); at != std::string_view::npos;
       at = bytes.find('\n', at + 1)) {
    const bool bare = at == 0 || bytes[at - 1] != '\r';
    if (bare || bytes.substr(0, at + 1).ends_with("\r\n\r\n")) return at + 1;
  }
  return 0;
}

std::optional<HeadFault> check_head(std::string_view head) {
  std::string_view line;
  if (auto fault = next_line(head, line)) return fault;
  if (auto fault = check_request_line(line)) return fault;
  const bool http_1_1 = line.ends_with("1.1");
  Fields fields;
  for (;;) {
    if (auto fault = next_line(head, line)) return fault;
    if (line.empty()) return fields.check(http_1_1);
    if (auto fault = fields.add(line)) return fault;
  }
}

}  // namespace corral::http
