#include "compat/mlflow/wire/otlp.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <span>

#include "compat/mlflow/wire/otlp_parts.h"
#include "core/base64.h"
#include "core/text.h"

namespace corral::mlflow {
namespace {

using codec::ProtoField;
using codec::ProtoWire;
using otlp::Checks;
using otlp::each_field;
using otlp::Fields;
using otlp::is_bytes;
using otlp::key_value;

// ---- protobuf

SpanEvent read_event(std::string_view message, Checks& checks) {
  SpanEvent event;
  each_field(message, checks, [&](const ProtoField& field) {
    if (field.is(otlp::kEventTime, ProtoWire::kFixed64)) event.time_ns = checks.time(field.value);
    if (is_bytes(field, otlp::kEventName)) event.name = to_utf8(field.bytes);
    if (is_bytes(field, otlp::kEventAttributes))
      event.attributes.push_back(key_value(field.bytes, checks, 0));
  });
  return event;
}

SpanLink read_link(std::string_view message, Checks& checks) {
  SpanLink link;
  each_field(message, checks, [&](const ProtoField& field) {
    if (is_bytes(field, otlp::kLinkTrace)) checks.trace_id(field.bytes, link.trace);
    if (is_bytes(field, otlp::kLinkSpan)) link.span = checks.span_id(field.bytes);
    if (is_bytes(field, otlp::kLinkAttributes))
      link.attributes.push_back(key_value(field.bytes, checks, 0));
  });
  return link;
}

void read_status(std::string_view message, Checks& checks, Span& span) {
  each_field(message, checks, [&](const ProtoField& field) {
    if (is_bytes(field, otlp::kStatusMessage)) span.status_message = to_utf8(field.bytes);
    if (field.is(otlp::kStatusCode, ProtoWire::kVarint))
      span.status = otlp::span_status(field.value);
  });
}

// Events, links and values count alike: all of them take memory.
void read_bytes_field(const ProtoField& field, Checks& checks, Span& span) {
  switch (field.number) {
    case otlp::kTraceId:
      return checks.trace_id(field.bytes, span.trace);
    case otlp::kSpanId:
      span.id = checks.span_id(field.bytes);
      return;
    case otlp::kParentSpanId:
      span.parent = checks.parent_id(field.bytes);
      return;
    case otlp::kName:
      span.name = to_utf8(field.bytes);
      return;
    case otlp::kAttributes:
      span.attributes.push_back(key_value(field.bytes, checks, 0));
      return;
    case otlp::kEvents:
      if (checks.count_value(0)) span.events.push_back(read_event(field.bytes, checks));
      return;
    case otlp::kLinks:
      if (checks.count_value(0)) span.links.push_back(read_link(field.bytes, checks));
      return;
    case otlp::kStatus:
      return read_status(field.bytes, checks, span);
    case otlp::kLane:
      span.lane = to_utf8(field.bytes);
      return;
    default:
      return;
  }
}

Span read_span(std::string_view message, Checks& checks) {
  Span span;
  each_field(message, checks, [&](const ProtoField& field) {
    if (field.wire == ProtoWire::kBytes) read_bytes_field(field, checks, span);
    if (field.is(otlp::kKind, ProtoWire::kVarint)) span.kind = otlp::span_kind(field.value);
    if (field.is(otlp::kStart, ProtoWire::kFixed64)) span.start_ns = checks.time(field.value);
    if (field.is(otlp::kEnd, ProtoWire::kFixed64)) span.end_ns = checks.time(field.value);
  });
  return span;
}

ResourceSpans read_resource_spans(std::string_view message, Checks& checks) {
  ResourceSpans out;
  each_field(message, checks, [&](const ProtoField& field) {
    if (is_bytes(field, otlp::kResource)) otlp::read_resource(field.bytes, checks, out.resource);
    if (!is_bytes(field, otlp::kScopeSpans)) return;
    each_field(field.bytes, checks, [&](const ProtoField& part) {
      if (is_bytes(part, otlp::kSpans) && checks.count_span()) {
        out.spans.push_back(read_span(part.bytes, checks));
        out.spans.back().lane.clear();
      }
    });
  });
  // The resource may stand behind its spans.
  for (Span& span : out.spans) checks.finish(out.resource, span);
  return out;
}

// ---- JSON

// OTLP's, and MLflow's, whose ids, attributes and status look otherwise.
enum class Form : std::uint8_t {
  kOtlp,
  kMlflow,       // JSON texts become their values
  kMlflowTexts,  // and lists and objects stay texts
};

constexpr std::size_t kTraceIdBytes = 16;
constexpr std::size_t kSpanIdBytes = 8;

// The bytes of an id of `size` bytes: hex, else base64; anything else is left for its check.
std::string id_bytes(std::string_view given, std::size_t size) {
  if (given.size() != 2 * size) return from_base64(given).value_or("?");
  std::string bytes;
  for (std::size_t at = 0; at < given.size(); at += 2) {
    unsigned byte = 0;
    const auto read = std::from_chars(given.data() + at, given.data() + at + 2, byte, 16);
    if (read.ptr != given.data() + at + 2) return "?";
    bytes += static_cast<char>(byte);
  }
  return bytes;
}

// "tr-<hex>" and "trace:/<place>/<hex>" are MLflow's.
OtelTraceId trace_id(const Fields& in, Form form) {
  std::string given = in.text("trace_id", "traceId");
  if (form != Form::kOtlp) {
    if (given.starts_with("trace:/")) given.erase(0, given.rfind('/') + 1);
    if (given.starts_with("tr-")) given.erase(0, 3);
  }
  OtelTraceId id{};
  in.checks.trace_id(id_bytes(given, kTraceIdBytes), id);
  return id;
}

std::uint64_t span_id(const Fields& in) {
  return in.checks.span_id(id_bytes(in.text("span_id", "spanId"), kSpanIdBytes));
}

// A number, or a name as "SPAN_KIND_SERVER"; unknown names are 0.
std::uint64_t named(const Fields& in, std::string_view field,
                    std::span<const std::string_view> names) {
  const Json* value = in.find(field);
  if (value == nullptr) return 0;
  if (value->as_int() != nullptr) return in.number(field);
  const auto found = std::ranges::find(names, in.text(field));
  return found == names.end() ? 0 : static_cast<std::uint64_t>(found - names.begin());
}
constexpr std::array<std::string_view, 6> kKinds = {"SPAN_KIND_UNSPECIFIED", "SPAN_KIND_INTERNAL",
                                                    "SPAN_KIND_SERVER",      "SPAN_KIND_CLIENT",
                                                    "SPAN_KIND_PRODUCER",    "SPAN_KIND_CONSUMER"};
constexpr std::array<std::string_view, 3> kCodes = {"STATUS_CODE_UNSET", "STATUS_CODE_OK",
                                                    "STATUS_CODE_ERROR"};

SpanStatus status_code(const Fields& status, Form form) {
  if (form == Form::kOtlp) return otlp::span_status(named(status, "code", kCodes));
  const std::string code = status.text("code");  // "STATUS_CODE_OK", and "OK" of 3.5
  if (code.ends_with("ERROR")) return SpanStatus::kError;
  return code.ends_with("OK") ? SpanStatus::kOk : SpanStatus::kUnset;
}

bool is_plain(const Json& value) {
  return value.as_array() == nullptr && value.as_object() == nullptr;
}

// The value of a span's attribute in MLflow's form, which is JSON text.
Json parse_value(const Json& stored, Form form) {
  const auto* json = stored.as_string();
  if (json == nullptr)
    return form == Form::kMlflow || is_plain(stored) ? stored : Json(stored.dump());
  auto read = Json::parse(*json);
  return read && (form == Form::kMlflow || is_plain(*read)) ? *std::move(read) : stored;
}

// Attributes of events and links are values in both forms.
enum class Owner : std::uint8_t { kSpan, kPart };
SpanAttributes attributes(const Fields& in, Form form, Owner owner) {
  if (form == Form::kOtlp) return in.attributes();
  SpanAttributes out;
  const Json* object = in.find("attributes");
  if (object == nullptr) return out;
  if (object->as_object() == nullptr) {
    in.checks.malformed();
    return out;
  }
  for (const auto& [key, value] : *object->as_object()) {
    const bool whole = is_plain(value) || form == Form::kMlflow;
    out.emplace_back(key, owner == Owner::kSpan ? parse_value(value, form)
                          : whole               ? value
                                                : Json(value.dump()));
  }
  return out;
}

void read_parts(const Fields& in, Form form, Span& span) {
  const auto counts = [&] { return form != Form::kOtlp || in.checks.count_value(0); };
  in.each("events", {}, [&](const Fields& item) {
    if (!counts()) return;
    span.events.push_back({.name = item.text("name"),
                           .time_ns = item.time("time_unix_nano", "timeUnixNano"),
                           .attributes = attributes(item, form, Owner::kPart)});
  });
  in.each("links", {}, [&](const Fields& item) {
    if (!counts()) return;
    const OtelTraceId trace = trace_id(item, form);
    const std::uint64_t id = span_id(item);
    span.links.push_back({trace, id, attributes(item, form, Owner::kPart)});
  });
}

Span read_span(const Fields& in, Form form) {
  Span span;
  span.trace = trace_id(in, form);
  span.id = span_id(in);
  span.parent =
      in.checks.parent_id(id_bytes(in.text("parent_span_id", "parentSpanId"), kSpanIdBytes));
  span.name = in.text("name");
  if (form == Form::kOtlp) span.kind = otlp::span_kind(named(in, "kind", kKinds));
  span.start_ns = in.time("start_time_unix_nano", "startTimeUnixNano");
  span.end_ns = in.time("end_time_unix_nano", "endTimeUnixNano");
  span.attributes = attributes(in, form, Owner::kSpan);
  read_parts(in, form, span);
  if (const auto status = in.within("status")) {
    span.status_message = status->text("message");
    span.status = status_code(*status, form);
  }
  return span;
}

ResourceSpans read_resource_spans(const Fields& in) {
  ResourceSpans out;
  if (const auto resource = in.within("resource")) out.resource = resource->attributes();
  in.each("scope_spans", "scopeSpans", [&](const Fields& scope) {
    scope.each("spans", {}, [&](const Fields& item) {
      if (!in.checks.count_span()) return;
      out.spans.push_back(read_span(item, Form::kOtlp));
      in.checks.finish(out.resource, out.spans.back());
    });
  });
  return out;
}

// ---- MLflow's JSON

// Python writes numbers that JSON has not: they become texts.
std::string with_known_numbers(std::string_view json) {
  constexpr std::array<std::string_view, 3> kUnknown = {"NaN", "-Infinity", "Infinity"};
  std::string out;
  bool quoted = false;
  for (std::size_t at = 0; at < json.size(); ++at) {
    const auto* unknown = std::ranges::find_if(
        kUnknown, [&](std::string_view name) { return json.substr(at).starts_with(name); });
    if (!quoted && unknown != kUnknown.end()) {
      out += '"' + std::string(*unknown) + '"';
      at += unknown->size() - 1;
      continue;
    }
    out += json[at];
    if (json[at] == '"') quoted = !quoted;
    if (quoted && json[at] == '\\' && at + 1 < json.size()) out += json[++at];
  }
  return out;
}

Result<Json> parse_python_json(std::string_view json) {
  auto read = Json::parse(json);
  return read ? read : Json::parse(with_known_numbers(json));
}

Result<Span> parse_mlflow_span(const Json& json) {
  // Values that nest deeper or are larger than OTLP allows stay text.
  for (const Form form : {Form::kMlflow, Form::kMlflowTexts}) {
    Checks checks;
    Span span = read_span(Fields{json, checks, true}, form);
    checks.finish({}, span);
    if (!checks.ok()) return tl::unexpected(*checks.error());
    if (decode_span(encode_span(span))) return span;
  }
  return fail(Code::kTooLarge, "the span has more values than can be kept");
}

// A span of MLflow 2 under the names of 3. Its events tell microseconds or nanoseconds without
// saying which: they are left out.
Json with_names_of_3(const Json& span) {
  const Json* context = span.find("context");
  if (context == nullptr || context->is_null()) return span;
  Json::Object out, status;
  const auto copy = [](const Json& from, std::string_view name, Json::Object& into,
                       const char* as) {
    const Json* value = from.find(name);
    if (value != nullptr && !value->is_null()) into.emplace_back(as, *value);
  };
  copy(*context, "trace_id", out, "trace_id");
  copy(*context, "span_id", out, "span_id");
  copy(span, "parent_id", out, "parent_span_id");
  copy(span, "name", out, "name");
  copy(span, "start_time", out, "start_time_unix_nano");
  copy(span, "end_time", out, "end_time_unix_nano");
  copy(span, "attributes", out, "attributes");
  copy(span, "status_code", status, "code");
  copy(span, "status_message", status, "message");
  out.emplace_back("status", Json(std::move(status)));
  return Json(std::move(out));
}

}  // namespace

Result<SpanExport> parse_otlp_protobuf(std::string_view body) {
  Checks checks;
  SpanExport out;
  each_field(body, checks, [&](const ProtoField& field) {
    if (is_bytes(field, otlp::kResourceSpans) && checks.count_value(0))
      out.push_back(read_resource_spans(field.bytes, checks));
  });
  if (!checks.ok()) return tl::unexpected(*checks.error());
  return out;
}

Result<Span> decode_span(std::string_view bytes) {
  Checks checks;
  Span span = read_span(bytes, checks);
  if (checks.ok()) checks.finish({}, span);
  if (!checks.ok()) return tl::unexpected(*checks.error());
  return span;
}

Result<SpanExport> parse_otlp_json(std::string_view body) {
  Checks checks;
  SpanExport out;
  otlp::read_json(body, checks, [&](const Fields& in) {
    in.each("resource_spans", "resourceSpans",
            [&](const Fields& item) { out.push_back(read_resource_spans(item)); });
  });
  if (!checks.ok()) return tl::unexpected(*checks.error());
  return out;
}

Result<Span> parse_span_json(std::string_view content) {
  const auto json = parse_python_json(content);
  if (!json || json->as_object() == nullptr)
    return fail(Code::kInvalidArgument, "the span is no JSON object");
  return parse_mlflow_span(*json);
}

Result<std::vector<Span>> parse_trace_file(std::string_view content) {
  const auto json = parse_python_json(content);
  const Json* list = json ? json->find("spans") : nullptr;
  if (list == nullptr || list->as_array() == nullptr)
    return fail(Code::kInvalidArgument, "the file holds no spans of a trace");
  std::vector<Span> spans;
  for (const Json& item : *list->as_array()) {
    auto span = parse_mlflow_span(with_names_of_3(item));
    if (span && spans.size() < kOtlpSpans) spans.push_back(*std::move(span));
  }
  return spans;
}

}  // namespace corral::mlflow
