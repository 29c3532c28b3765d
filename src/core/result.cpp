#include "core/result.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <system_error>

namespace corral {

std::string_view code_name(Code code) {
  switch (code) {
    case Code::kNotFound:
      return "not_found";
    case Code::kInvalidArgument:
      return "invalid_argument";
    case Code::kUnprocessable:
      return "unprocessable";
    case Code::kAlreadyExists:
      return "already_exists";
    case Code::kConflict:
      return "conflict";
    case Code::kTooLarge:
      return "too_large";
    case Code::kPermission:
      return "permission";
    case Code::kUnauthenticated:
      return "unauthenticated";
    case Code::kUnavailable:
      return "unavailable";
    case Code::kNoSpace:
      return "no_space";
    case Code::kUnsupported:
      return "unsupported";
    case Code::kCorruption:
      return "corruption";
    case Code::kIo:
      return "io";
    case Code::kInternal:
      return "internal";
  }
  return "internal";
}

Error Error::with_context(std::string_view context) const {
  return Error{code, std::string(context) + ": " + message};
}

tl::unexpected<Error> fail(Code code, std::string message) {
  return tl::unexpected<Error>(Error{code, std::move(message)});
}

namespace {

Code code_from_errno(int error_number) {
  switch (error_number) {
    case ENOENT:
    case ENOTDIR:
    case ESRCH:
      return Code::kNotFound;
    case EACCES:
    case EPERM:
    case EROFS:
      return Code::kPermission;
    case EEXIST:
      return Code::kAlreadyExists;
    case ENOSPC:
    case EDQUOT:
      return Code::kNoSpace;
    case EAGAIN:
    case ECONNREFUSED:
    case ETIMEDOUT:
      return Code::kUnavailable;
    case ENOSYS:
    case EOPNOTSUPP:
      return Code::kUnsupported;
    default:
      return Code::kIo;
  }
}

}  // namespace

tl::unexpected<Error> fail_errno(std::string_view what, int error_number) {
  return fail(code_from_errno(error_number),
              std::string(what) + ": " + std::generic_category().message(error_number));
}

void detail::assertion_failed(const char* expression, const char* file, int line) {
  std::fprintf(stderr, "corral: assertion failed: %s (%s:%d)\n", expression, file, line);
  std::abort();
}

}  // namespace corral
