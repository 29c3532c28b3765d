#include "server/api/write.h"

#include <fmt/core.h>

#include "core/text.h"
#include "query/select.h"

namespace corral::server::api {

Result<RunId> requested_run(const Request& request, const Context& context) {
  return query::select_run(context.reader, request.param("run"));
}

Result<store::Run> read_run(const store::Reader& store, std::string_view name) {
  return read_run(store, TRY(query::select_run(store, name)));
}

Result<store::Run> read_run(const store::Reader& store, RunId id) {
  auto run = TRY(store.run(id));
  if (!run) return fail(Code::kNotFound, fmt::format("no run {}", id.hex()));
  return *std::move(run);
}

std::optional<bool> query_flag(const Request& request, std::string_view name) {
  const auto text = request.query_value(name);
  if (!text || *text == "false" || *text == "0") return false;
  if (text->empty() || *text == "true" || *text == "1") return true;
  return std::nullopt;
}

tl::unexpected<RequestError> bad_query(const Request& request, std::string_view name,
                                       std::string_view expected) {
  const std::string got = to_utf8(request.query_value(name).value_or(""));
  return fail_about(name, Code::kInvalidArgument,
                    fmt::format("{} must be {}, got '{}'", name, expected, got));
}

Parsed<TimeEnds> query_times(const Request& request) {
  TimeEnds ends;
  for (const auto& [name, time] :
       {std::pair("from_ns", &ends.from), std::pair("to_ns", &ends.to)}) {
    const auto text = request.query_value(name);
    if (!text) continue;
    const auto value = parse_int(*text);
    if (!value) return bad_query(request, name, "nanoseconds of UTC");
    *time = utc_time(*value);
  }
  return ends;
}

std::string_view phase_kind_name(codec::PhaseKind kind) {
  switch (kind) {
    case codec::PhaseKind::kCompute:
      return "compute";
    case codec::PhaseKind::kWait:
      return "wait";
    case codec::PhaseKind::kIo:
      return "io";
    case codec::PhaseKind::kComm:
      return "comm";
    case codec::PhaseKind::kControl:
      return "control";
  }
  return "compute";
}

Parsed<std::int64_t> query_int(const Request& request, std::string_view name,
                               const IntRange& range) {
  const std::optional<std::string_view> text = request.query_value(name);
  if (!text) return range.fallback;
  const std::optional<std::int64_t> value = parse_int(*text);
  if (value && *value >= range.low && *value <= range.high) return *value;
  const bool two = range.high == range.low + 1;
  return bad_query(request, name,
                   two ? fmt::format("{} or {}", range.low, range.high)
                       : fmt::format("between {} and {}", range.low, range.high));
}

void write_integer(JsonWriter& json, std::string_view name, std::optional<std::int64_t> value) {
  json.key(name);
  value ? json.value_string(*value) : json.null();
}

void write_time(JsonWriter& json, std::string_view name, std::optional<UtcTime> time) {
  write_integer(json, name, time ? std::optional(ns_of(*time)) : std::nullopt);
}

void write_text(JsonWriter& json, std::string_view name, std::string_view text) {
  json.key(name);
  text.empty() ? json.null() : json.value(text);
}

void write_json_text(JsonWriter& json, std::string_view name, std::string_view text) {
  json.key(name);
  const Result<Json> parsed = Json::parse(text);
  parsed ? json.value(*parsed) : json.value(text);
}

void write_attributes(JsonWriter& json, std::string_view name,
                      const codec::Attributes& attributes) {
  json.key(name).begin_object();
  for (const auto& [key, text] : attributes) write_json_text(json, key, text);
  json.end_object();
}

void write_placed(JsonWriter& json, const query::PlacedValue& placed) {
  json.member("value", placed.value);
  write_integer(json, "time_ns", placed.time);
  write_integer(json, "step", placed.step);
}

Response binary_response(std::string_view type, std::string body) {
  Response response;
  response.headers = {{"Content-Type", std::string(type)}, {"Cache-Control", "no-store"}};
  response.body = std::move(body);
  return response;
}

Response stream_response(std::string_view type, StreamProducer stream) {
  Response response = binary_response(type, {});
  response.stream = std::move(stream);
  return response;
}

std::string_view log_stream_name(codec::LogStream stream) {
  switch (stream) {
    case codec::LogStream::kStdout:
      return "stdout";
    case codec::LogStream::kStderr:
      return "stderr";
    case codec::LogStream::kTty:
      return "tty";
  }
  return "stdout";
}

std::optional<codec::LogStream> parse_log_stream(std::string_view name) {
  for (const auto stream :
       {codec::LogStream::kStdout, codec::LogStream::kStderr, codec::LogStream::kTty}) {
    if (log_stream_name(stream) == name) return stream;
  }
  return std::nullopt;
}

}  // namespace corral::server::api
