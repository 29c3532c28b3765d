// ApiError: an error of MLflow's interface, {"error_code": "NAME", "message": "..."}, with the HTTP
// status of MLflow's own server (https://mlflow.org/docs/latest/rest-api.html). Clients check the
// name and show the message. They retry 408, 429 and 5xx for minutes, so bad input never gets one
// of these. Pure, any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <utility>

#include "core/result.h"

namespace corral::mlflow {

enum class ErrorCode : unsigned char {
  kInvalidParameterValue,
  kBadRequest,
  kResourceAlreadyExists,
  kResourceDoesNotExist,
  kEndpointNotFound,
  kInvalidState,  // 400 here: an answer of 500 would be tried again for minutes
  kPermissionDenied,
  kUnauthenticated,
  kNotImplemented,
  kRequestTooLarge,
  kTemporarilyUnavailable,
  kNoSpace,
  kInternal,
};

struct ApiError {
  ErrorCode code = ErrorCode::kInternal;
  std::string message;

  ApiError(ErrorCode error_code, std::string text) : code(error_code), message(std::move(text)) {}
  // Translates an error of the store or another part of Corral into MLflow's codes.
  ApiError(const Error& error);
};
template <class T = void>
using Answer = tl::expected<T, ApiError>;

int http_status(ErrorCode code);
// The body of an answer.
std::string to_json(const ApiError& error);

tl::unexpected<ApiError> refuse(ErrorCode code, std::string message);
tl::unexpected<ApiError> invalid(std::string message);

namespace detail {
template <class T, class E>
T value_of(tl::expected<T, E>&& result) {
  return *std::move(result);
}
template <class E>
void value_of(tl::expected<void, E>&&) {}
}  // namespace detail

}  // namespace corral::mlflow

// Evaluates to the value of an Answer, or returns its ApiError; a Result's Error is translated.
#define TRY_API(...)                                                                             \
  __extension__({                                                                                \
    auto corral_api_result = (__VA_ARGS__);                                                      \
    if (!corral_api_result)                                                                      \
      return ::tl::unexpected<::corral::mlflow::ApiError>(std::move(corral_api_result).error()); \
    ::corral::mlflow::detail::value_of(std::move(corral_api_result));                            \
  })
