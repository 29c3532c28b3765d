#include "compat/mlflow/wire/span.h"

#include <fmt/core.h>

#include <algorithm>

#include "compat/mlflow/wire/otlp_parts.h"
#include "core/base64.h"

namespace corral::mlflow {
namespace {

using codec::ProtoWriter;

std::string id_bytes(std::uint64_t id) {
  std::string bytes;
  for (int shift = 56; shift >= 0; shift -= 8) bytes += static_cast<char>(id >> shift);
  return bytes;
}
std::string_view as_bytes(const OtelTraceId& trace) {
  return {reinterpret_cast<const char*>(trace.data()), trace.size()};
}

ProtoWriter key_value(std::string_view key, const Json& value);

ProtoWriter any_value(const Json& value) {
  ProtoWriter out;
  if (const auto* text = value.as_string()) {
    out.bytes(otlp::kStringValue, *text);
  } else if (const auto* flag = value.as_bool()) {
    out.number(otlp::kBoolValue, *flag ? 1 : 0);
  } else if (const auto* number = value.as_int()) {
    out.number(otlp::kIntValue, static_cast<std::uint64_t>(*number));
  } else if (value.is_double()) {
    out.real(otlp::kDoubleValue, value.as_double(0));
  } else if (const auto* array = value.as_array()) {
    ProtoWriter list;
    for (const Json& item : *array) list.message(otlp::kValues, any_value(item));
    out.message(otlp::kArrayValue, list);
  } else if (const auto* object = value.as_object()) {
    ProtoWriter list;
    for (const auto& [key, item] : *object) list.message(otlp::kValues, key_value(key, item));
    out.message(otlp::kKvlistValue, list);
  }
  return out;
}

ProtoWriter key_value(std::string_view key, const Json& value) {
  ProtoWriter out;
  out.bytes(otlp::kKey, key).message(otlp::kValue, any_value(value));
  return out;
}

void put(ProtoWriter& out, std::uint32_t field, const SpanAttributes& attributes) {
  for (const auto& [key, value] : attributes) out.message(field, key_value(key, value));
}

void write_attributes(JsonWriter& json, const SpanAttributes& attributes);

// null is a value without any.
void write_any(JsonWriter& json, const Json& value) {
  json.begin_object();
  if (const auto* text = value.as_string()) {
    json.member("string_value", *text);
  } else if (const auto* flag = value.as_bool()) {
    json.member("bool_value", *flag);
  } else if (const auto* number = value.as_int()) {
    json.member("int_value", *number);
  } else if (value.is_double()) {
    json.member("double_value", value.as_double(0));
  } else if (const auto* array = value.as_array()) {
    json.key("array_value").begin_object().key("values").begin_array();
    for (const Json& item : *array) write_any(json, item);
    json.end_array().end_object();
  } else if (const auto* object = value.as_object()) {
    json.key("kvlist_value").begin_object().key("values");
    write_attributes(json, *object);
    json.end_object();
  }
  json.end_object();
}

void write_attributes(JsonWriter& json, const SpanAttributes& attributes) {
  json.begin_array();
  for (const auto& [key, value] : attributes) {
    json.begin_object().member("key", key).key("value");
    write_any(json, value);
    json.end_object();
  }
  json.end_array();
}

void write_events(JsonWriter& json, const std::vector<SpanEvent>& events) {
  if (events.empty()) return;
  json.key("events").begin_array();
  for (const SpanEvent& event : events) {
    json.begin_object().member("time_unix_nano", event.time_ns).member("name", event.name);
    if (!event.attributes.empty()) write_attributes(json.key("attributes"), event.attributes);
    json.end_object();
  }
  json.end_array();
}

void write_links(JsonWriter& json, const std::vector<SpanLink>& links) {
  if (links.empty()) return;
  json.key("links").begin_array();
  for (const SpanLink& link : links) {
    json.begin_object().member("trace_id", base64(as_bytes(link.trace)));
    json.member("span_id", base64(id_bytes(link.span)));
    if (!link.attributes.empty()) write_attributes(json.key("attributes"), link.attributes);
    json.end_object();
  }
  json.end_array();
}

void write_status(JsonWriter& json, const Span& span) {
  json.key("status").begin_object();
  if (!span.status_message.empty()) json.member("message", span.status_message);
  if (span.status == SpanStatus::kOk) json.member("code", "STATUS_CODE_OK");
  if (span.status == SpanStatus::kError) json.member("code", "STATUS_CODE_ERROR");
  json.end_object();
}

ProtoWriter event_message(const SpanEvent& event) {
  ProtoWriter out;
  out.fixed(otlp::kEventTime, static_cast<std::uint64_t>(event.time_ns));
  out.bytes(otlp::kEventName, event.name);
  put(out, otlp::kEventAttributes, event.attributes);
  return out;
}

ProtoWriter link_message(const SpanLink& link) {
  ProtoWriter out;
  out.bytes(otlp::kLinkTrace, as_bytes(link.trace)).bytes(otlp::kLinkSpan, id_bytes(link.span));
  put(out, otlp::kLinkAttributes, link.attributes);
  return out;
}

}  // namespace

const Json* find_attribute(const SpanAttributes& attributes, std::string_view key) {
  const auto found = std::ranges::find(attributes, key, [](const auto& a) { return a.first; });
  return found == attributes.end() ? nullptr : &found->second;
}

const Json* Span::attribute(std::string_view key) const { return find_attribute(attributes, key); }

std::string_view Span::text(std::string_view key) const {
  const Json* value = attribute(key);
  const auto* text = value != nullptr ? value->as_string() : nullptr;
  return text != nullptr ? std::string_view(*text) : std::string_view();
}

std::string trace_id_text(const OtelTraceId& trace) {
  std::string id = "tr-";
  for (const std::uint8_t byte : trace) id += fmt::format("{:02x}", byte);
  return id;
}

std::string span_id_text(std::uint64_t id) { return fmt::format("{:016x}", id); }

std::string encode_span(const Span& span) {
  ProtoWriter out;
  out.bytes(otlp::kTraceId, as_bytes(span.trace)).bytes(otlp::kSpanId, id_bytes(span.id));
  if (span.parent != 0) out.bytes(otlp::kParentSpanId, id_bytes(span.parent));
  out.bytes(otlp::kName, span.name);
  out.number(otlp::kKind, static_cast<std::uint64_t>(span.kind));
  out.fixed(otlp::kStart, static_cast<std::uint64_t>(span.start_ns));
  if (span.end_ns != 0) out.fixed(otlp::kEnd, static_cast<std::uint64_t>(span.end_ns));
  put(out, otlp::kAttributes, span.attributes);
  for (const SpanEvent& event : span.events) out.message(otlp::kEvents, event_message(event));
  for (const SpanLink& link : span.links) out.message(otlp::kLinks, link_message(link));
  ProtoWriter status;
  status.bytes(otlp::kStatusMessage, span.status_message);
  status.number(otlp::kStatusCode, static_cast<std::uint64_t>(span.status));
  out.message(otlp::kStatus, status).bytes(otlp::kLane, span.lane);
  return out.text();
}

void write_span(JsonWriter& json, const Span& span) {
  json.begin_object().member("trace_id", base64(as_bytes(span.trace)));
  json.member("span_id", base64(id_bytes(span.id)));
  if (span.parent != 0) json.member("parent_span_id", base64(id_bytes(span.parent)));
  json.member("name", span.name).member("start_time_unix_nano", span.start_ns);
  if (span.end_ns != 0) json.member("end_time_unix_nano", span.end_ns);
  json.key("attributes");
  write_attributes(json, span.attributes);
  write_events(json, span.events);
  write_links(json, span.links);
  write_status(json, span);
  json.end_object();
}

}  // namespace corral::mlflow
