#include "compat/mlflow/wire/span_json.h"

#include <algorithm>
#include <array>

#include "compat/mlflow/wire/otlp_parts.h"
#include "compat/mlflow/wire/span_fields.h"

namespace corral::mlflow {
namespace {

using span_fields::each_object;
using span_fields::id_bytes;
using span_fields::kSpanIdBytes;
using span_fields::kTraceIdBytes;
using span_fields::member;
using span_fields::text;
using span_fields::time;

enum class Values : std::uint8_t {
  kRead,   // JSON texts become their values
  kTexts,  // and lists and objects stay texts
};

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

Result<Json> parse(std::string_view json) {
  auto read = Json::parse(json);
  return read ? read : Json::parse(with_known_numbers(json));
}

bool is_plain(const Json& value) {
  return value.as_array() == nullptr && value.as_object() == nullptr;
}

Json value_of(const Json& stored, Values values) {
  const auto* json = stored.as_string();
  if (json == nullptr)
    return values == Values::kRead || is_plain(stored) ? stored : Json(stored.dump());
  auto read = Json::parse(*json);
  return read && (values == Values::kRead || is_plain(*read)) ? *std::move(read) : stored;
}

// Attributes of events and links are values, not JSON texts.
SpanAttributes attributes(const Json& json, OtlpChecks& checks, Values values, bool texts) {
  SpanAttributes out;
  const Json* object = member(json, "attributes");
  if (object == nullptr) return out;
  if (object->as_object() == nullptr) {
    checks.malformed();
    return out;
  }
  for (const auto& [key, value] : *object->as_object()) {
    const bool whole = is_plain(value) || values == Values::kRead;
    out.emplace_back(key, texts ? value_of(value, values) : whole ? value : Json(value.dump()));
  }
  return out;
}

// "tr-<hex>" and "trace:/<place>/<hex>" are MLflow's.
OtelTraceId trace_id(const Json* value, OtlpChecks& checks) {
  std::string given = text(value, checks);
  if (given.starts_with("trace:/")) given.erase(0, given.rfind('/') + 1);
  if (given.starts_with("tr-")) given.erase(0, 3);
  const Json hex(std::move(given));
  OtelTraceId id{};
  checks.trace_id(id_bytes(&hex, kTraceIdBytes, checks), id);
  return id;
}

// "STATUS_CODE_OK", and "OK" of 3.5.
SpanStatus status_of(std::string_view code) {
  if (code.ends_with("ERROR")) return SpanStatus::kError;
  return code.ends_with("OK") ? SpanStatus::kOk : SpanStatus::kUnset;
}

void read_parts(const Json& json, OtlpChecks& checks, Values values, Span& span) {
  each_object(member(json, "events"), checks, [&](const Json& item) {
    span.events.push_back({.name = text(member(item, "name"), checks),
                           .time_ns = time(member(item, "time_unix_nano"), checks),
                           .attributes = attributes(item, checks, values, false)});
  });
  each_object(member(json, "links"), checks, [&](const Json& item) {
    SpanLink link;
    link.trace = trace_id(member(item, "trace_id"), checks);
    link.span = checks.span_id(id_bytes(member(item, "span_id"), kSpanIdBytes, checks));
    link.attributes = attributes(item, checks, values, false);
    span.links.push_back(std::move(link));
  });
}

Span read_span(const Json& json, OtlpChecks& checks, Values values) {
  Span span;
  span.trace = trace_id(member(json, "trace_id"), checks);
  span.id = checks.span_id(id_bytes(member(json, "span_id"), kSpanIdBytes, checks));
  span.parent = checks.parent_id(id_bytes(member(json, "parent_span_id"), kSpanIdBytes, checks));
  span.name = text(member(json, "name"), checks);
  span.start_ns = time(member(json, "start_time_unix_nano"), checks);
  span.end_ns = time(member(json, "end_time_unix_nano"), checks);
  span.attributes = attributes(json, checks, values, true);
  read_parts(json, checks, values, span);
  if (const Json* status = member(json, "status")) {
    span.status_message = text(member(*status, "message"), checks);
    span.status = status_of(text(member(*status, "code"), checks));
  }
  checks.finish({}, span);
  return span;
}

Result<Span> span_of(const Json& json) {
  // Values that nest deeper or are larger than OTLP allows stay text.
  for (const Values values : {Values::kRead, Values::kTexts}) {
    OtlpChecks checks;
    Span span = read_span(json, checks, values);
    if (!checks.ok()) return tl::unexpected(*checks.error());
    if (decode_span(encode_span(span))) return span;
  }
  return fail(Code::kTooLarge, "the span has more values than can be kept");
}

// A span of MLflow 2 under the names of 3. Its events tell microseconds or nanoseconds without
// saying which: they are left out.
Json with_names_of_3(const Json& span) {
  const Json* context = member(span, "context");
  if (context == nullptr) return span;
  Json::Object out, status;
  const auto take = [](const Json& from, std::string_view name, Json::Object& into,
                       const char* as) {
    if (const Json* value = member(from, name)) into.emplace_back(as, *value);
  };
  take(*context, "trace_id", out, "trace_id");
  take(*context, "span_id", out, "span_id");
  take(span, "parent_id", out, "parent_span_id");
  take(span, "name", out, "name");
  take(span, "start_time", out, "start_time_unix_nano");
  take(span, "end_time", out, "end_time_unix_nano");
  take(span, "attributes", out, "attributes");
  take(span, "status_code", status, "code");
  take(span, "status_message", status, "message");
  out.emplace_back("status", Json(std::move(status)));
  return Json(std::move(out));
}

}  // namespace

Result<Span> parse_span_json(std::string_view content) {
  const auto json = parse(content);
  if (!json || json->as_object() == nullptr)
    return fail(Code::kInvalidArgument, "the span is no JSON object");
  return span_of(*json);
}

Result<std::vector<Span>> parse_trace_file(std::string_view content) {
  const auto json = parse(content);
  const Json* list = json ? json->find("spans") : nullptr;
  if (list == nullptr || list->as_array() == nullptr)
    return fail(Code::kInvalidArgument, "the file holds no spans of a trace");
  std::vector<Span> spans;
  for (const Json& item : *list->as_array()) {
    auto span = span_of(with_names_of_3(item));
    if (span && spans.size() < kOtlpSpans) spans.push_back(*std::move(span));
  }
  return spans;
}

}  // namespace corral::mlflow
