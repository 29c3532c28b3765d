// Checks for both forms of OTLP: the bounds of a request, and the validity of a span.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "compat/mlflow/wire/otlp.h"

namespace corral::mlflow {

// Sticky: keeps the first error.
class OtlpChecks {
 public:
  [[nodiscard]] bool ok() const { return !error_; }
  [[nodiscard]] const std::optional<Error>& error() const { return error_; }
  void wrong(Code code, std::string_view message) {
    if (!error_) error_ = Error{code, std::string(message)};
  }
  void malformed() { wrong(Code::kInvalidArgument, "Invalid OpenTelemetry format"); }
  bool count_span() {
    if (++spans_ > kOtlpSpans) wrong(Code::kTooLarge, "more than 100,000 spans in one request");
    return ok();
  }
  bool count_value(int depth) {
    if (depth > kOtlpDepth) malformed();
    if (++values_ > kOtlpValues)
      wrong(Code::kTooLarge, "more than a million values in one request");
    return ok();
  }
  // Counts bytes that a request holds once and that are copied for each of many numbers.
  bool count_copy(std::size_t bytes) {
    if ((copied_ += bytes) > kOtlpCopied)
      wrong(Code::kTooLarge, "names and attributes of many numbers are too long together");
    return ok();
  }

  // 16 and 8 raw bytes, not all zero; an empty parent is none.
  void trace_id(std::string_view bytes, OtelTraceId& id);
  std::uint64_t span_id(std::string_view bytes);
  std::uint64_t parent_id(std::string_view bytes);
  std::int64_t time(std::uint64_t ns);
  // Ids, times, lane.
  void finish(const SpanAttributes& resource, Span& span);

 private:
  void bad_span(std::string_view why) { wrong(Code::kUnprocessable, why); }

  std::optional<Error> error_;
  std::size_t spans_ = 0;
  std::size_t values_ = 0;
  std::size_t copied_ = 0;
};

SpanKind span_kind(std::uint64_t number);      // unknown ones: kUnspecified
SpanStatus span_status(std::uint64_t number);  // likewise: kUnset

}  // namespace corral::mlflow
