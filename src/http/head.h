// A request's head, looked at before the parser takes it.
//
// The parser accepts forms that another program on the way (a proxy) may understand in another way,
// and where two of them disagree on where a request ends, a second request can hide in the first.
// So only the strict form of RFC 9112 passes: CRLF ends a line, no line is folded, no space before
// a colon, one Content-Length of digits or one `Transfer-Encoding: chunked` and never both, one
// Host, no header twice that may come once. A client that sends anything else receives the reason
// and loses the connection. Pure, any thread (fuzz/fuzz_http.cpp).
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace corral::http {

inline constexpr std::size_t kHeadBytes = 32u << 10;
// MLflow's bulk queries name a hundred runs in one: 5 KB.
inline constexpr std::size_t kTargetBytes = 16u << 10;
inline constexpr std::size_t kHeadFields = 100;

struct HeadFault {
  int status = 400;  // 400, 414, 431 or 501
  std::string message;
};

// Bytes of the head that begins at `bytes`, its empty line included; 0: more is needed. The first
// `seen` bytes were looked at before. A line that ends in LF alone ends the head: it will not pass.
std::size_t head_length(std::string_view bytes, std::size_t seen);

// `head` as head_length() measured it.
std::optional<HeadFault> check_head(std::string_view head);

}  // namespace corral::http
