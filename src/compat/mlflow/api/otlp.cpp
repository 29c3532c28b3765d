// POST /v1/traces: spans by OTLP, as MLflow's client and any OpenTelemetry exporter send them.
//
// A request is stored whole or not at all. Errors of the form are {"detail": ...}, as MLflow's
// server gives them there; those of experiments are as everywhere else.
#include "compat/mlflow/wire/otlp.h"

#include <fmt/core.h>

#include <algorithm>

#include "compat/mlflow/api/handlers.h"
#include "compat/mlflow/wire/trace_of_spans.h"
#include "core/text.h"
#include "server/core/unseen.h"

namespace corral::server::mlflow {
namespace {

using tracking::TraceFact;
using tracking::TraceRow;
using tracking::TraceState;
using wire::SpanExport;
using wire::SpanStatus;
using wire::TraceOfSpans;

constexpr std::string_view kProtobuf = "application/x-protobuf";
constexpr std::string_view kJson = "application/json";
// JSON takes many times its length while it is read.
constexpr std::size_t kJsonBytes = 16u << 20;

Response detail(std::string_view text, int status) {
  std::string body;
  JsonWriter(body).begin_object().member("detail", text).end_object();
  return json_response(std::move(body), status);
}

Response no_experiment() {
  return json_response(R"({"detail":[{"type":"missing","loc":["header","x-mlflow-experiment-id"],)"
                       R"("msg":"Field required","input":null}]})",
                       422);
}

Response refused_spans(const Error& error) {
  if (error.code == Code::kUnprocessable)
    return detail("Cannot convert OpenTelemetry span to MLflow span: " + error.message, 422);
  return detail(error.message, error.code == Code::kTooLarge ? 413 : 400);
}

// 422 is no status of MLflow's interface: Error carries it as kUnprocessable.
Result<SpanExport> read_spans(const Request& request, std::string_view type) {
  if (type == kProtobuf) return wire::parse_otlp_protobuf(request.body);
  if (request.body.size() > kJsonBytes)
    return corral::fail(Code::kTooLarge, "a JSON body has at most 16 MiB");
  return wire::parse_otlp_json(request.body);
}

UtcTime whole_ms(std::int64_t ns) {
  return std::chrono::floor<std::chrono::milliseconds>(utc_time(ns));
}

bool is_final(const TraceRow& trace) {
  return std::ranges::any_of(trace.metadata,
                             [](const auto& fact) { return fact.first == kFinalizedMetadata; });
}

// Fills the trace from its spans; values of its own record have precedence.
TraceRow with_spans(TraceRow trace, const TraceOfSpans& spans, bool fresh) {
  if (fresh || !is_final(trace)) {
    const UtcTime start = whole_ms(spans.start_ns);
    std::optional<UtcTime> end;
    if (trace.duration) end = trace.start + *trace.duration;
    if (spans.end_ns)
      end = std::max(end.value_or(whole_ms(*spans.end_ns)), whole_ms(*spans.end_ns));
    trace.start = fresh ? start : std::min(trace.start, start);
    if (end) trace.duration = *end - trace.start;
  }
  if (trace.state == TraceState::kUnspecified || trace.state == TraceState::kInProgress) {
    trace.state = !spans.root                         ? TraceState::kInProgress
                  : *spans.root == SpanStatus::kError ? TraceState::kError
                                                      : TraceState::kOk;
  }
  if (trace.request_preview.empty()) trace.request_preview = spans.request;
  if (trace.response_preview.empty()) trace.response_preview = spans.response;
  tracking::Tags metadata;
  for (const auto& fact : spans.metadata) {
    const bool known = std::ranges::any_of(
        trace.metadata, [&](const auto& other) { return other.first == fact.first; });
    if (!known) metadata.push_back(fact);
  }
  trace.metadata = std::move(metadata);  // only new entries are written
  trace.runs.clear();
  trace.tags = spans.tags;
  return trace;
}

Answer<> store_trace(Connection& db, const tracking::ExperimentRow& experiment,
                     const TraceOfSpans& spans) {
  auto known = TRY_API(tracking::lock_trace(db, spans.id));
  const bool fresh = !known.has_value();
  if (fresh) {
    known.emplace().id = spans.id;
    known->experiment = experiment.id;
  }
  TraceRow trace = with_spans(*std::move(known), spans, fresh);
  if (fresh) {
    for (auto& tag : first_tags(experiment, trace.id)) trace.tags.push_back(std::move(tag));
  }
  trace.tags.emplace_back(kSpansLocationTag, "TRACKING_STORE");
  TRY_API(tracking::put_trace(db, trace));
  for (const wire::Span* span : spans.spans) {
    TRY_API(
        tracking::put_span(db, trace.id, wire::span_id_text(span->id), wire::encode_span(*span)));
  }
  return {};
}

// MLflow's id of the trace is an attribute of its spans, whatever the client says it is.
void name_traces(SpanExport& spans) {
  for (auto& group : spans) {
    for (auto& span : group.spans) {
      const auto named = std::ranges::find(span.attributes, wire::kRequestIdAttribute,
                                           [](const auto& attribute) { return attribute.first; });
      Json id = wire::trace_id_text(span.trace);
      if (named != span.attributes.end()) {
        named->second = std::move(id);
      } else {
        span.attributes.emplace_back(wire::kRequestIdAttribute, std::move(id));
      }
    }
  }
}

Answer<> store_spans(Context& context, const Request& request,
                     const std::vector<TraceOfSpans>& traces) {
  const std::string_view run = request.header("x-mlflow-run-id");
  std::vector<std::string> ids;
  for (const TraceOfSpans& trace : traces) ids.push_back(trace.id);
  TRY_API(check_ids(context.reader, ids));
  const auto put = [&](Connection& db) -> Answer<> {
    const auto experiment = TRY_API(find_experiment(db, request.header("x-mlflow-experiment-id")));
    for (const TraceOfSpans& trace : traces) {
      TRY_API(store_trace(db, experiment, trace));
      if (const auto id = RunId::parse(run); id && trace.root)
        TRY_API(tracking::set_trace_fact(db, trace.id, TraceFact::kRun, id->hex(), ""));
    }
    return {};
  };
  TRY_API(change(context, put));
  return show_spans(context, traces);
}

}  // namespace

Response post_spans(const Request& request, Context& context) {
  if (request.header("x-mlflow-experiment-id").empty()) return no_experiment();
  const std::string_view given = request.header("content-type");
  const std::string_view type = trim(given.substr(0, given.find(';')));
  if (type != kProtobuf && type != kJson) {
    return detail(fmt::format("Invalid Content-Type: {}. Expected: {} or {}",
                              given.empty() ? "None" : to_utf8(given), kProtobuf, kJson),
                  400);
  }
  auto spans = read_spans(request, type);
  if (!spans) return refused_spans(spans.error());
  if (spans->empty()) return detail("Invalid OpenTelemetry format - no spans found", 400);
  name_traces(*spans);
  const auto stored = store_spans(context, request, wire::traces_from_spans(*spans));
  if (!stored) return answer(stored.error());
  // An ExportTraceServiceResponse that has nothing to say.
  Response response = json_response(type == kJson ? "{}" : "");
  response.headers.clear();
  response.set_header("Content-Type", type);
  return response;
}

}  // namespace corral::server::mlflow
