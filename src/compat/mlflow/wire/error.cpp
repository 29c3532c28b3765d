#include "compat/mlflow/wire/error.h"

#include <array>

#include "core/json.h"

namespace corral::mlflow {
namespace {

struct Name {
  std::string_view name;
  int status;
};
// In the order of ErrorCode.
constexpr std::array kNames = {
    Name{"INVALID_PARAMETER_VALUE", 400}, Name{"BAD_REQUEST", 400},
    Name{"RESOURCE_ALREADY_EXISTS", 400}, Name{"RESOURCE_DOES_NOT_EXIST", 404},
    Name{"ENDPOINT_NOT_FOUND", 404},      Name{"INVALID_STATE", 400},
    Name{"PERMISSION_DENIED", 403},       Name{"UNAUTHENTICATED", 401},
    Name{"NOT_IMPLEMENTED", 501},         Name{"INVALID_PARAMETER_VALUE", 413},
    Name{"TEMPORARILY_UNAVAILABLE", 503}, Name{"RESOURCE_EXHAUSTED", 507},
    Name{"INTERNAL_ERROR", 500},
};
static_assert(kNames.size() == static_cast<std::size_t>(ErrorCode::kInternal) + 1);

const Name& entry(ErrorCode code) { return kNames.at(static_cast<std::size_t>(code)); }

ErrorCode translate(Code code) {
  switch (code) {
    case Code::kNotFound:
      return ErrorCode::kResourceDoesNotExist;
    case Code::kInvalidArgument:
    case Code::kUnprocessable:
      return ErrorCode::kInvalidParameterValue;
    case Code::kAlreadyExists:
      return ErrorCode::kResourceAlreadyExists;
    case Code::kTooLarge:
      return ErrorCode::kRequestTooLarge;
    case Code::kPermission:
      return ErrorCode::kPermissionDenied;
    case Code::kUnauthenticated:
      return ErrorCode::kUnauthenticated;
    case Code::kConflict:
    case Code::kUnavailable:
      return ErrorCode::kTemporarilyUnavailable;
    case Code::kNoSpace:
      return ErrorCode::kNoSpace;
    case Code::kUnsupported:
      return ErrorCode::kNotImplemented;
    case Code::kCorruption:
    case Code::kIo:
    case Code::kInternal:
      break;
  }
  return ErrorCode::kInternal;
}

}  // namespace

ApiError::ApiError(const Error& error) : code(translate(error.code)), message(error.message) {}

int http_status(ErrorCode code) { return entry(code).status; }

std::string to_json(const ApiError& error) {
  std::string out;
  JsonWriter json(out);
  json.begin_object().member("error_code", entry(error.code).name);
  json.member("message", error.message).end_object();
  return out;
}

tl::unexpected<ApiError> refuse(ErrorCode code, std::string message) {
  return tl::unexpected(ApiError(code, std::move(message)));
}
tl::unexpected<ApiError> invalid(std::string message) {
  return refuse(ErrorCode::kInvalidParameterValue, std::move(message));
}

}  // namespace corral::mlflow
