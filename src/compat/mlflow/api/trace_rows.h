// What the handlers of traces share: reading and writing a trace's record in both of MLflow's
// forms (v3 and v2), and spans that become phases of runs.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "compat/mlflow/api/entities.h"
#include "compat/mlflow/tables/traces.h"
#include "compat/mlflow/wire/trace_of_spans.h"
#include "core/json.h"

namespace corral::server::mlflow {

inline constexpr std::string_view kArtifactLocationTag = "mlflow.artifactLocation";
inline constexpr std::string_view kSpansLocationTag = "mlflow.trace.spansLocation";
inline constexpr std::string_view kFinalizedMetadata = "mlflow.trace.infoFinalized";

Answer<> check_trace_id(std::string_view id);
// The run that it says it came from: traces are found by it.
Answer<> check_source_run(const tracking::Tags& metadata);
// Tags that a trace begins with: where its artifacts are.
tracking::Tags first_tags(const tracking::ExperimentRow& experiment, std::string_view trace);
// 404 unless it is there.
Answer<tracking::TraceRow> find_trace(store::sql::Connection& db, const std::string& id);

// "2026-11-21T19:10:20.606Z" and "0.106s", proto3's forms, to whole milliseconds.
std::string timestamp(UtcTime time);
Answer<UtcTime> parse_timestamp(std::string_view text, std::string_view path);
Answer<Nanos> parse_span_of_time(std::string_view text, std::string_view path);

// v3: TraceInfoV3; v2: TraceInfo.
void write_trace_info(JsonWriter& json, const tracking::TraceRow& trace);
void write_trace_info_v2(JsonWriter& json, const tracking::TraceRow& trace);
// {"trace_info": ..., "spans": [...]}; roots first, then by start. Contents that do not decode are
// left out.
void write_trace(JsonWriter& json, const tracking::TraceRow& trace,
                 std::span<const std::string> spans);

// A trace's spans become phases of the runs that it belongs to; one that is a phase already is put
// again. To be called when what the caller stored is durable: so, of a trace's record and its
// spans, whichever comes last sees the other.
//
// All stored spans, when the traces' records came;
Answer<> show_stored_spans(Context& context, std::span<const std::string> traces);
// these, when spans came.
Answer<> show_spans(Context& context, std::span<const corral::mlflow::TraceOfSpans> traces);

}  // namespace corral::server::mlflow
