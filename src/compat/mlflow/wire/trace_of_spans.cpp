#include "compat/mlflow/wire/trace_of_spans.h"

#include <algorithm>
#include <map>

#include "compat/mlflow/wire/names.h"

namespace corral::mlflow {
namespace {

constexpr std::string_view kTagPrefix = "mlflow.traceTag.";

// A text as it is but for NUL, which PostgreSQL does not take; anything else as JSON.
std::string plain(const Json& value) {
  const auto* text = value.as_string();
  std::string out = text != nullptr ? *text : value.dump();
  std::ranges::replace(out, '\0', ' ');
  return out;
}

void set(std::vector<std::pair<std::string, std::string>>& pairs, std::string_view key,
         std::string value) {
  const auto known = std::ranges::find(pairs, key, [](const auto& pair) { return pair.first; });
  if (known != pairs.end()) {
    known->second = std::move(value);
  } else {
    pairs.emplace_back(key, std::move(value));
  }
}

void set_tag(TraceOfSpans& trace, std::string_view key, const Json& value) {
  if (check_key(key, "key"))
    set(trace.tags, key, std::string(cut(plain(value), kTraceValueLength)));
}

void add_resource(TraceOfSpans& trace, const SpanAttributes& resource) {
  for (const auto& [key, value] : resource) {
    if (!key.starts_with("telemetry.sdk.") && !key.starts_with("mlflow."))
      set_tag(trace, key, value);
  }
}

std::string preview(const Json* value) {
  return value == nullptr ? std::string() : std::string(cut(value->dump(), kPreviewLength));
}

void add_root(TraceOfSpans& trace, const Span& root) {
  trace.root = root.status;
  trace.request = preview(root.attribute("mlflow.spanInputs"));
  trace.response = preview(root.attribute("mlflow.spanOutputs"));
  for (const auto& [key, value] : root.attributes) {
    if (key.starts_with(kTagPrefix))
      set_tag(trace, std::string_view(key).substr(kTagPrefix.size()), value);
  }
}

// Takes the attribute from the first span that has it.
void add_metadata(TraceOfSpans& trace, const Span& span, std::string_view attribute,
                  std::string_view key) {
  const Json* value = span.attribute(attribute);
  const bool known =
      std::ranges::any_of(trace.metadata, [&](const auto& m) { return m.first == key; });
  if (value != nullptr && !known) trace.metadata.emplace_back(key, cut(plain(*value), kKeyLength));
}

void add_span(TraceOfSpans& trace, const Span& span) {
  trace.start_ns = trace.spans.empty() ? span.start_ns : std::min(trace.start_ns, span.start_ns);
  if (span.end_ns != 0) trace.end_ns = std::max(trace.end_ns.value_or(span.end_ns), span.end_ns);
  trace.spans.push_back(&span);
  add_metadata(trace, span, "session.id", "mlflow.trace.session");
  add_metadata(trace, span, "gen_ai.conversation.id", "mlflow.trace.session");
  add_metadata(trace, span, "user.id", "mlflow.trace.user");
  if (span.parent == 0) add_root(trace, span);
}

}  // namespace

std::vector<TraceOfSpans> traces_from_spans(const SpanExport& spans) {
  std::vector<TraceOfSpans> traces;
  std::map<OtelTraceId, std::size_t> known;
  for (const ResourceSpans& group : spans) {
    for (const Span& span : group.spans) {
      const auto [entry, fresh] = known.emplace(span.trace, traces.size());
      if (fresh) {
        traces.emplace_back().id = trace_id_text(span.trace);
        add_resource(traces.back(), group.resource);
      }
      add_span(traces[entry->second], span);
    }
  }
  return traces;
}

}  // namespace corral::mlflow
