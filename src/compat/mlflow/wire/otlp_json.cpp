#include <array>
#include <cmath>
#include <limits>
#include <span>

#include "compat/mlflow/wire/otlp.h"
#include "compat/mlflow/wire/otlp_parts.h"
#include "compat/mlflow/wire/otlp_values.h"
#include "compat/mlflow/wire/span_fields.h"
#include "core/text.h"

namespace corral::mlflow {
namespace {

using otlp::attributes;
using span_fields::each_object;
using span_fields::id_bytes;
using span_fields::integer;
using span_fields::kSpanIdBytes;
using span_fields::kTraceIdBytes;
using span_fields::member;
using span_fields::text;
using span_fields::time;

// Numbers, or names as "SPAN_KIND_SERVER".
template <class Enum>
Enum named(const Json* value, OtlpChecks& checks, std::span<const std::string_view> names,
           Enum (*of_number)(std::uint64_t)) {
  if (value == nullptr) return Enum{};
  if (value->as_int() != nullptr) return of_number(integer<std::uint64_t>(*value, checks));
  const std::string name = text(value, checks);
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i] == name) return of_number(i);
  }
  return Enum{};
}
constexpr std::array<std::string_view, 6> kKinds = {"SPAN_KIND_UNSPECIFIED", "SPAN_KIND_INTERNAL",
                                                    "SPAN_KIND_SERVER",      "SPAN_KIND_CLIENT",
                                                    "SPAN_KIND_PRODUCER",    "SPAN_KIND_CONSUMER"};
constexpr std::array<std::string_view, 3> kCodes = {"STATUS_CODE_UNSET", "STATUS_CODE_OK",
                                                    "STATUS_CODE_ERROR"};

void read_parts(const Json& json, OtlpChecks& checks, Span& span) {
  each_object(member(json, "events"), checks, [&](const Json& item) {
    if (!checks.count_value(0)) return;
    span.events.push_back({.name = text(member(item, "name"), checks),
                           .time_ns = time(member(item, "timeUnixNano", "time_unix_nano"), checks),
                           .attributes = attributes(member(item, "attributes"), checks, 0)});
  });
  each_object(member(json, "links"), checks, [&](const Json& item) {
    if (!checks.count_value(0)) return;
    SpanLink link;
    checks.trace_id(id_bytes(member(item, "traceId", "trace_id"), kTraceIdBytes, checks),
                    link.trace);
    link.span = checks.span_id(id_bytes(member(item, "spanId", "span_id"), kSpanIdBytes, checks));
    link.attributes = attributes(member(item, "attributes"), checks, 0);
    span.links.push_back(std::move(link));
  });
}

Span read_span(const Json& json, OtlpChecks& checks) {
  Span span;
  checks.trace_id(id_bytes(member(json, "traceId", "trace_id"), kTraceIdBytes, checks), span.trace);
  span.id = checks.span_id(id_bytes(member(json, "spanId", "span_id"), kSpanIdBytes, checks));
  span.parent = checks.parent_id(
      id_bytes(member(json, "parentSpanId", "parent_span_id"), kSpanIdBytes, checks));
  span.name = text(member(json, "name"), checks);
  span.kind = named(member(json, "kind"), checks, kKinds, span_kind);
  span.start_ns = time(member(json, "startTimeUnixNano", "start_time_unix_nano"), checks);
  span.end_ns = time(member(json, "endTimeUnixNano", "end_time_unix_nano"), checks);
  span.attributes = attributes(member(json, "attributes"), checks, 0);
  read_parts(json, checks, span);
  if (const Json* status = member(json, "status")) {
    span.status_message = text(member(*status, "message"), checks);
    span.status = named(member(*status, "code"), checks, kCodes, span_status);
  }
  return span;
}

ResourceSpans read_resource_spans(const Json& json, OtlpChecks& checks) {
  ResourceSpans out;
  if (const Json* resource = member(json, "resource"))
    out.resource = attributes(member(*resource, "attributes"), checks, 0);
  each_object(member(json, "scopeSpans", "scope_spans"), checks, [&](const Json& scope) {
    each_object(member(scope, "spans"), checks, [&](const Json& item) {
      if (!checks.count_span()) return;
      out.spans.push_back(read_span(item, checks));
      checks.finish(out.resource, out.spans.back());
    });
  });
  return out;
}

}  // namespace

Result<SpanExport> parse_otlp_json(std::string_view body) {
  OtlpChecks checks;
  SpanExport out;
  const auto json = Json::parse(body);
  if (!json || json->as_object() == nullptr) checks.malformed();
  if (checks.ok()) {
    each_object(member(*json, "resourceSpans", "resource_spans"), checks,
                [&](const Json& item) { out.push_back(read_resource_spans(item, checks)); });
  }
  if (!checks.ok()) return tl::unexpected(*checks.error());
  return out;
}

}  // namespace corral::mlflow
