// Writes the parts that several answers of the API share.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "codec/frame.h"
#include "core/json.h"
#include "core/time.h"
#include "server/core/http_types.h"

namespace corral::server {
struct ProfileAsk;
}

namespace corral::server::api {

// A 64-bit integer as a decimal string, or null.
void write_integer(JsonWriter& json, std::optional<std::int64_t> value);
void write_time(JsonWriter& json, std::optional<UtcTime> time);
// A number, or null.
void write_number(JsonWriter& json, std::optional<double> value);
// The text, or null when it is empty.
void write_optional_text(JsonWriter& json, std::string_view name, const std::string& text);
// JSON text as it is stored; text that is not JSON is written as a string.
void write_json_text(JsonWriter& json, const std::string& text);
// {"key": value, ...} of JSON texts.
void write_attributes(JsonWriter& json, const codec::Attributes& attributes);

// In profiles.cpp.
void write_profile(JsonWriter& json, const ProfileAsk& ask);

std::string_view phase_kind_name(codec::PhaseKind kind);
std::string_view log_stream_name(codec::LogStream stream);
std::optional<codec::LogStream> parse_log_stream(std::string_view name);
std::string_view end_reason_name(codec::EndReason reason);

struct RequestError;
// The error of a JSON body, with its position.
Response bad_body(const RequestError& error);
// 400 that names a query parameter.
Response bad_query(std::string_view name, std::string_view expected, std::string_view got);
// The parameter as an integer in [low, high]; `fallback` when absent.
struct IntRange {
  std::int64_t low;
  std::int64_t high;
  std::int64_t fallback;
};
std::optional<std::int64_t> query_int(const Request& request, std::string_view name,
                                      const IntRange& range);

}  // namespace corral::server::api
