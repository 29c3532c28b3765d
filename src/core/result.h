// Result<T>: a value, or an error from outside the program.
//
// Errors travel as values through every layer; each may add a prefix that names its action.
// Exceptions that libraries throw are caught at four seams: thread entry, request handler, C
// callback and main. Conditions that only a bug can break are checked by CORRAL_ASSERT, on in
// release builds too; never use it on input.
#pragma once

#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <utility>

namespace corral {

// Closed set; server/http maps it to HTTP statuses, cli to exit statuses.
enum class Code {
  kNotFound,         // the thing named does not exist
  kInvalidArgument,  // malformed input: retrying the same cannot help
  kUnprocessable,    // well-formed input that contradicts known data
  kAlreadyExists,
  kConflict,  // the state moved on, look again
  kTooLarge,  // over a stated limit
  kPermission,
  kUnauthenticated,
  kUnavailable,  // not now; retry later
  kNoSpace,
  kUnsupported,  // a newer version or a missing feature
  kCorruption,   // stored bytes differ from the written ones
  kIo,
  kInternal,
};

// Stable lower-case name as the API shows it ("not_found").
std::string_view code_name(Code code);

struct Error {
  Code code = Code::kInternal;
  std::string message;  // the failure, its place, and the remedy; no trailing full stop

  // The same error, "context: message".
  [[nodiscard]] Error with_context(std::string_view context) const;
};

template <class T = void>
using Result = tl::expected<T, Error>;

[[nodiscard]] tl::unexpected<Error> fail(Code code, std::string message);

// Error from errno: "what: strerror text", with the matching code (ENOENT, EACCES, ENOSPC, EDQUOT,
// EROFS, ...).
[[nodiscard]] tl::unexpected<Error> fail_errno(std::string_view what, int error_number);

namespace detail {
template <class T>
T unwrap(tl::expected<T, Error>&& r) {
  return *std::move(r);
}
inline void unwrap(tl::expected<void, Error>&&) {}
[[noreturn]] void assertion_failed(const char* expression, const char* file, int line);
}  // namespace detail

}  // namespace corral

// Evaluates to the value of a Result, or returns its error from the enclosing function.
#define TRY(...)                                                                      \
  __extension__({                                                                     \
    auto corral_try_result = (__VA_ARGS__);                                           \
    if (!corral_try_result)                                                           \
      return ::tl::unexpected<::corral::Error>(std::move(corral_try_result).error()); \
    ::corral::detail::unwrap(std::move(corral_try_result));                           \
  })

#define CORRAL_ASSERT(condition)      \
  ((condition) ? static_cast<void>(0) \
               : ::corral::detail::assertion_failed(#condition, __FILE__, __LINE__))
