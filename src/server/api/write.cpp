#include "server/api/write.h"

#include <fmt/core.h>

#include "core/text.h"
#include "server/api/request_fields.h"

namespace corral::server::api {

void write_integer(JsonWriter& json, std::optional<std::int64_t> value) {
  if (value) {
    json.value_string(*value);
  } else {
    json.null();
  }
}

void write_time(JsonWriter& json, std::optional<UtcTime> time) {
  write_integer(json, time ? std::optional(ns_of(*time)) : std::nullopt);
}

void write_number(JsonWriter& json, std::optional<double> value) {
  if (value) {
    json.value(*value);
  } else {
    json.null();
  }
}

void write_optional_text(JsonWriter& json, std::string_view name, const std::string& text) {
  json.key(name);
  if (text.empty()) {
    json.null();
  } else {
    json.value(std::string_view(text));
  }
}

void write_json_text(JsonWriter& json, const std::string& text) {
  const Result<Json> parsed = Json::parse(text);
  if (parsed) {
    json.value(*parsed);
  } else {
    json.value(std::string_view(text));
  }
}

void write_attributes(JsonWriter& json, const codec::Attributes& attributes) {
  json.begin_object();
  for (const auto& [name, text] : attributes) {
    json.key(name);
    write_json_text(json, text);
  }
  json.end_object();
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

std::string_view end_reason_name(codec::EndReason reason) {
  switch (reason) {
    case codec::EndReason::kExit:
      return "exit";
    case codec::EndReason::kSignal:
      return "signal";
    case codec::EndReason::kMaxTime:
      return "max_time";
    case codec::EndReason::kInterrupt:
      return "interrupt";
    case codec::EndReason::kUnknown:
      return "unknown";
    case codec::EndReason::kNotStarted:
      return "not_started";
  }
  return "unknown";
}

Response bad_body(const RequestError& error) {
  return error_response(error.error, {.field = error.field, .position = error.position});
}

Response bad_query(std::string_view name, std::string_view expected, std::string_view got) {
  return error_response({Code::kInvalidArgument,
                         fmt::format("{} must be {}, got '{}'", name, expected, to_utf8(got))},
                        {.field = name, .position = std::nullopt});
}

std::optional<std::int64_t> query_int(const Request& request, std::string_view name,
                                      const IntRange& range) {
  const std::optional<std::string_view> text = request.query_value(name);
  if (!text) return range.fallback;
  const std::optional<std::int64_t> value = parse_int(*text);
  return value && *value >= range.low && *value <= range.high ? value : std::nullopt;
}

}  // namespace corral::server::api
