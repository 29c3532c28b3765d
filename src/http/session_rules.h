// Shared rules of Session's files: limits for slow clients, draining, and the meaning of an error
// of the connection. Internal to this folder; includes Boost.
#pragma once

#include <fmt/core.h>

#include <boost/beast/http/error.hpp>

#include "http/session.h"

namespace corral::http {

// A slower client than this holds a connection for no use.
inline constexpr std::size_t kBytesPerSecond = 64u << 10;
// A refused body up to this size is read and dropped; a longer one costs its sender the connection.
inline constexpr std::uint64_t kDrainBytes = 4 * std::uint64_t{limits::kBodyBytes};

// The same limit for a body that is forbidden or unused.
inline constexpr std::uint64_t kTinyDrainBytes = 64u << 10;

inline constexpr std::size_t kFirstPieceBytes = BodyBudget::kFreeBytes;
inline constexpr std::size_t kPieceBytes = 256u << 10;  // bytes of a body, that are read at once

// Hang-up, time-out or a broken connection: no client to answer.
inline bool is_end(BoostError error) {
  namespace faults = beast::http;
  return error == faults::error::end_of_stream || error == faults::error::partial_message ||
         error.category() != make_error_code(faults::error::bad_method).category();
}

inline Error broken_body(BoostError error) {
  if (error == beast::http::error::buffer_overflow) {
    return {Code::kInvalidArgument,
            fmt::format("the chunk extensions or trailers of a body are at most {} bytes",
                        kBufferBytes)};
  }
  return {Code::kInvalidArgument, "malformed HTTP: " + error.message()};
}

inline Error too_large(std::size_t limit) {
  return {Code::kTooLarge, fmt::format("a request body is at most {} bytes", limit)};
}

}  // namespace corral::http
