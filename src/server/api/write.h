// Reads the parameters and writes the parts of answers that handlers share.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "codec/frame.h"
#include "core/json.h"
#include "core/time.h"
#include "query/series/window.h"
#include "server/api/request_fields.h"
#include "server/core/context.h"
#include "server/core/http_types.h"

namespace corral::server {
struct ProfileRequest;
}

namespace corral::server::api {

// ---- the request
// The run that the path names (query/select.h).
Result<RunId> requested_run(const Request& request, const Context& context);
// kNotFound, too, if it was removed meanwhile.
Result<store::Run> read_run(const store::Reader& store, std::string_view name);
Result<store::Run> read_run(const store::Reader& store, RunId id);
// kNotFound: the plan is hidden from its reader. One that is not there is no secret.
Result<> check_known_plan(const store::Reader& reader, std::string_view id);
// It is there, and seen.
bool sees_plan(const store::Reader& reader, const std::string& id);
// 400 that names a query parameter and quotes its value.
tl::unexpected<RequestError> bad_query(const Request& request, std::string_view name,
                                       std::string_view expected);
// True or false of a query parameter: absent is false, empty is true; nothing: it is neither.
std::optional<bool> query_flag(const Request& request, std::string_view name);
// The parameter as an integer in [low, high]; `fallback` when absent.
struct IntRange {
  std::int64_t low;
  std::int64_t high;
  std::int64_t fallback;
};
Parsed<std::int64_t> query_int(const Request& request, std::string_view name,
                               const IntRange& range);
// The times `from_ns` and `to_ns`, each where it is given.
struct TimeEnds {
  std::optional<UtcTime> from, to;
};
Parsed<TimeEnds> query_times(const Request& request);

// ---- the answer: members of an object
// "compute", "wait", "io", "comm", "control".
std::string_view phase_kind_name(codec::PhaseKind kind);
// The value, or null.
template <class T>
void write_optional(JsonWriter& json, std::string_view name, const std::optional<T>& value) {
  json.key(name);
  value ? json.value(*value) : json.null();
}
// A 64-bit integer as a decimal string, or null.
void write_integer(JsonWriter& json, std::string_view name, std::optional<std::int64_t> value);
void write_time(JsonWriter& json, std::string_view name, std::optional<UtcTime> time);
// The text, or null when it is empty.
void write_text(JsonWriter& json, std::string_view name, std::string_view text);
// JSON text as it is stored; text that is not JSON becomes a string.
void write_json_text(JsonWriter& json, std::string_view name, std::string_view text);
// {"key": value, ...} of JSON texts.
void write_attributes(JsonWriter& json, std::string_view name, const codec::Attributes& attributes);
// `write(json, item)` writes each element of the array.
template <class Items, class Write>
void write_array(JsonWriter& json, std::string_view name, const Items& items, Write write) {
  json.key(name).begin_array();
  for (const auto& item : items) write(json, item);
  json.end_array();
}
// The members `value`, `time_ns` and `step`.
void write_placed(JsonWriter& json, const query::PlacedValue& placed);
// An element; in profiles.cpp.
void write_profile(JsonWriter& json, const ProfileRequest& profile);

// {...}; `write(json)` writes its members.
template <class Write>
Response object_response(Write write) {
  std::string body;
  JsonWriter json(body);
  json.begin_object();
  write(json);
  json.end_object();
  return json_response(std::move(body));
}
// {"name": [...]}
template <class Items, class Write>
Response array_response(std::string_view name, const Items& items, Write write) {
  return object_response([&](JsonWriter& json) { write_array(json, name, items, write); });
}

// Bytes, or a stream of them, that caches must not keep.
Response binary_response(std::string_view type, std::string body);
Response stream_response(std::string_view type, StreamProducer stream);

std::string_view log_stream_name(codec::LogStream stream);
std::optional<codec::LogStream> parse_log_stream(std::string_view name);

}  // namespace corral::server::api
