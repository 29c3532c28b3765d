#include "compat/mlflow/wire/otlp_parts.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <type_traits>

#include "core/base64.h"
#include "core/text.h"

namespace corral::mlflow::otlp {
namespace {

using codec::ProtoField;
using codec::ProtoWire;

// A text or number as a part of a lane; separators in it become "_".
std::string lane_part(const Json* value) {
  if (value == nullptr) return {};
  std::string text;
  if (const auto* given = value->as_string()) {
    text = given->substr(0, 80);
  } else if (const auto* number = value->as_int()) {
    text = std::to_string(*number);
  }
  std::ranges::replace(text, '/', '_');
  return text;
}

std::string first_lane_part(const SpanAttributes& attributes,
                            std::initializer_list<std::string_view> names) {
  for (const std::string_view name : names) {
    if (std::string text = lane_part(find_attribute(attributes, name)); !text.empty()) return text;
  }
  return {};
}

// "host/service:pid/thread" from the known parts; "" if none is known.
std::string make_lane(const SpanAttributes& resource, const Span& span) {
  const std::string host = first_lane_part(resource, {"host.name", "host.id"});
  std::string process = first_lane_part(resource, {"service.name"});
  if (process.starts_with("unknown_service")) process.clear();
  const std::string pid = first_lane_part(resource, {"process.pid", "service.instance.id"});
  if (!pid.empty()) process += (process.empty() ? "" : ":") + pid;
  const std::string thread =
      first_lane_part(span.attributes, {"thread.name", "thread.id", "thread_id"});
  std::string lane;
  for (const std::string& part : {host, process, thread}) {
    if (!part.empty()) lane += (lane.empty() ? "" : "/") + part;
  }
  return lane;
}

// ---- protobuf

Json any_value(std::string_view message, Checks& checks, int depth);

Json array_value(std::string_view message, Checks& checks, int depth) {
  Json::Array items;
  each_field(message, checks, [&](const ProtoField& field) {
    if (is_bytes(field, kValues)) items.push_back(any_value(field.bytes, checks, depth));
  });
  return items;
}

Json kvlist_value(std::string_view message, Checks& checks, int depth) {
  Json::Object items;
  each_field(message, checks, [&](const ProtoField& field) {
    if (is_bytes(field, kValues)) items.push_back(key_value(field.bytes, checks, depth));
  });
  return items;
}

// The last member of a oneof counts.
Json any_value(std::string_view message, Checks& checks, int depth) {
  Json out;
  if (!checks.count_value(depth)) return out;
  each_field(message, checks, [&](const ProtoField& field) {
    if (field.is(kBoolValue, ProtoWire::kVarint)) out = field.value != 0;
    if (field.is(kIntValue, ProtoWire::kVarint)) out = static_cast<std::int64_t>(field.value);
    if (field.is(kDoubleValue, ProtoWire::kFixed64)) out = field.real();
    if (field.wire != ProtoWire::kBytes) return;
    if (field.number == kStringValue) out = to_utf8(field.bytes);
    if (field.number == kBytesValue) out = base64(field.bytes);
    if (field.number == kArrayValue) out = array_value(field.bytes, checks, depth + 1);
    if (field.number == kKvlistValue) out = kvlist_value(field.bytes, checks, depth + 1);
  });
  return out;
}

// ---- JSON

Json any_value(const Fields& in, int depth) {
  Checks& checks = in.checks;
  if (!checks.count_value(depth)) return {};
  if (in.object.as_object() == nullptr) checks.malformed();
  if (in.find("string_value", "stringValue") != nullptr)
    return in.text("string_value", "stringValue");
  if (const Json* flag = in.find("bool_value", "boolValue")) {
    if (flag->as_bool() == nullptr) checks.malformed();
    return flag->as_bool() != nullptr && *flag->as_bool();
  }
  if (in.find("int_value", "intValue") != nullptr) return in.signed_number("int_value", "intValue");
  if (in.find("double_value", "doubleValue") != nullptr)
    return in.real("double_value", "doubleValue");
  if (in.find("bytes_value", "bytesValue") != nullptr) return in.text("bytes_value", "bytesValue");
  if (const Json* array = in.find("array_value", "arrayValue")) {
    Json::Array items;
    Fields{*array, checks}.each(
        "values", {}, [&](const Fields& item) { items.push_back(any_value(item, depth + 1)); });
    return items;
  }
  if (const Json* list = in.find("kvlist_value", "kvlistValue"))
    return Json::Object(Fields{*list, checks}.attributes(depth + 1, "values"));
  return {};
}

template <class Integer>
Integer integer(const Json* value, Checks& checks) {
  Integer number{};
  if (value == nullptr) return number;
  if (const auto* given = value->as_int()) {
    if (std::is_unsigned_v<Integer> && *given < 0) checks.malformed();
    return static_cast<Integer>(*given);
  }
  const auto* digits = value->as_string();
  if (digits == nullptr) {
    checks.malformed();
    return number;
  }
  const char* end = digits->data() + digits->size();
  const auto read = std::from_chars(digits->data(), end, number);
  if (read.ec != std::errc() || read.ptr != end) checks.malformed();
  return number;
}

}  // namespace

void Checks::trace_id(std::string_view bytes, OtelTraceId& id) {
  if (bytes.size() != id.size()) return bad_span("a trace id has 16 bytes");
  std::ranges::transform(bytes, id.begin(), [](char c) { return static_cast<std::uint8_t>(c); });
}

std::uint64_t Checks::span_id(std::string_view bytes) {
  constexpr std::size_t kBytes = 8;
  if (bytes.size() != kBytes) {
    bad_span("a span id has 8 bytes");
    return 0;
  }
  std::uint64_t id = 0;
  for (const char c : bytes) id = id << 8 | static_cast<std::uint8_t>(c);
  return id;
}

std::uint64_t Checks::parent_id(std::string_view bytes) {
  return bytes.empty() ? 0 : span_id(bytes);
}

std::int64_t Checks::time(std::uint64_t ns) {
  if (ns > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
    bad_span("a time is after the year 2262");
  return static_cast<std::int64_t>(ns);
}

void Checks::finish(const SpanAttributes& resource, Span& span) {
  if (span.id == 0) bad_span("a span has no id");
  if (span.trace == OtelTraceId{}) bad_span("a span has no trace id");
  if (span.lane.empty()) span.lane = make_lane(resource, span);
}

SpanKind span_kind(std::uint64_t number) {
  return number <= static_cast<std::uint64_t>(SpanKind::kConsumer) ? static_cast<SpanKind>(number)
                                                                   : SpanKind::kUnspecified;
}

SpanStatus span_status(std::uint64_t number) {
  return number <= static_cast<std::uint64_t>(SpanStatus::kError) ? static_cast<SpanStatus>(number)
                                                                  : SpanStatus::kUnset;
}

std::pair<std::string, Json> key_value(std::string_view message, Checks& checks, int depth) {
  std::pair<std::string, Json> out;
  if (!checks.count_value(depth)) return out;
  each_field(message, checks, [&](const ProtoField& field) {
    if (is_bytes(field, kKey)) out.first = to_utf8(field.bytes);
    if (is_bytes(field, kValue)) out.second = any_value(field.bytes, checks, depth);
  });
  return out;
}

void read_resource(std::string_view message, Checks& checks, SpanAttributes& out) {
  each_field(message, checks, [&](const ProtoField& field) {
    if (is_bytes(field, kResourceAttributes)) out.push_back(key_value(field.bytes, checks, 0));
  });
}

std::string Fields::text(std::string_view declared, std::string_view name) const {
  const Json* value = find(declared, name);
  if (value == nullptr) return {};
  const auto* found = value->as_string();
  if (found == nullptr) checks.malformed();
  return found != nullptr ? *found : std::string();
}

std::int64_t Fields::signed_number(std::string_view declared, std::string_view name) const {
  return integer<std::int64_t>(find(declared, name), checks);
}

std::uint64_t Fields::number(std::string_view declared, std::string_view name) const {
  return integer<std::uint64_t>(find(declared, name), checks);
}

double Fields::real(std::string_view declared, std::string_view name) const {
  const Json* value = find(declared, name);
  if (value == nullptr) return 0;
  const auto* given = value->as_string();
  if (given == nullptr && !value->is_double() && value->as_int() == nullptr) checks.malformed();
  if (given == nullptr) return value->as_double(0);
  if (*given == "NaN") return std::numeric_limits<double>::quiet_NaN();
  if (*given == "Infinity") return std::numeric_limits<double>::infinity();
  if (*given == "-Infinity") return -std::numeric_limits<double>::infinity();
  const auto number = parse_double(*given);
  if (!number) checks.malformed();
  return number.value_or(0);
}

SpanAttributes Fields::attributes(int depth, std::string_view declared) const {
  SpanAttributes out;
  each(declared, {}, [&](const Fields& item) {
    std::string key = item.text("key");
    if (!checks.count_value(depth)) return;
    const Json* value = item.find("value");
    out.emplace_back(std::move(key),
                     value != nullptr ? any_value(Fields{*value, checks}, depth) : Json());
  });
  return out;
}

}  // namespace corral::mlflow::otlp
