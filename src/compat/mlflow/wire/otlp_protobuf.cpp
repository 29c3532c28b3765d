#include "compat/mlflow/wire/otlp.h"
#include "compat/mlflow/wire/otlp_fields.h"
#include "compat/mlflow/wire/otlp_parts.h"
#include "compat/mlflow/wire/otlp_values.h"
#include "core/text.h"

namespace corral::mlflow {
namespace {

using codec::ProtoField;
using codec::ProtoWire;
using otlp::each_field;
using otlp::is_bytes;
using otlp::key_value;

SpanEvent read_event(std::string_view message, OtlpChecks& checks) {
  SpanEvent event;
  each_field(message, checks, [&](const ProtoField& field) {
    if (field.is(otlp::kEventTime, ProtoWire::kFixed64)) event.time_ns = checks.time(field.value);
    if (is_bytes(field, otlp::kEventName)) event.name = to_utf8(field.bytes);
    if (is_bytes(field, otlp::kEventAttributes))
      event.attributes.push_back(key_value(field.bytes, checks, 0));
  });
  return event;
}

SpanLink read_link(std::string_view message, OtlpChecks& checks) {
  SpanLink link;
  each_field(message, checks, [&](const ProtoField& field) {
    if (is_bytes(field, otlp::kLinkTrace)) checks.trace_id(field.bytes, link.trace);
    if (is_bytes(field, otlp::kLinkSpan)) link.span = checks.span_id(field.bytes);
    if (is_bytes(field, otlp::kLinkAttributes))
      link.attributes.push_back(key_value(field.bytes, checks, 0));
  });
  return link;
}

void read_status(std::string_view message, OtlpChecks& checks, Span& span) {
  each_field(message, checks, [&](const ProtoField& field) {
    if (is_bytes(field, otlp::kStatusMessage)) span.status_message = to_utf8(field.bytes);
    if (field.is(otlp::kStatusCode, ProtoWire::kVarint)) span.status = span_status(field.value);
  });
}

// Events, links and values count alike: all of them take memory.
void take_bytes(const ProtoField& field, OtlpChecks& checks, Span& span) {
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

Span read_span(std::string_view message, OtlpChecks& checks) {
  Span span;
  each_field(message, checks, [&](const ProtoField& field) {
    if (field.wire == ProtoWire::kBytes) take_bytes(field, checks, span);
    if (field.is(otlp::kKind, ProtoWire::kVarint)) span.kind = span_kind(field.value);
    if (field.is(otlp::kStart, ProtoWire::kFixed64)) span.start_ns = checks.time(field.value);
    if (field.is(otlp::kEnd, ProtoWire::kFixed64)) span.end_ns = checks.time(field.value);
  });
  return span;
}

ResourceSpans read_resource_spans(std::string_view message, OtlpChecks& checks) {
  ResourceSpans out;
  each_field(message, checks, [&](const ProtoField& field) {
    if (is_bytes(field, otlp::kResource)) {
      each_field(field.bytes, checks, [&](const ProtoField& part) {
        if (is_bytes(part, otlp::kResourceAttributes))
          out.resource.push_back(key_value(part.bytes, checks, 0));
      });
    }
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

}  // namespace

Result<SpanExport> parse_otlp_protobuf(std::string_view body) {
  OtlpChecks checks;
  SpanExport out;
  each_field(body, checks, [&](const ProtoField& field) {
    if (is_bytes(field, otlp::kResourceSpans) && checks.count_value(0))
      out.push_back(read_resource_spans(field.bytes, checks));
  });
  if (!checks.ok()) return tl::unexpected(*checks.error());
  return out;
}

Result<Span> decode_span(std::string_view bytes) {
  OtlpChecks checks;
  Span span = read_span(bytes, checks);
  if (checks.ok()) checks.finish({}, span);
  if (!checks.ok()) return tl::unexpected(*checks.error());
  return span;
}

}  // namespace corral::mlflow
