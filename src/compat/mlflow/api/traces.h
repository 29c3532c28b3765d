// Traces of MLflow's interface: records in both of its forms (v3, and v2 of clients before 3.0),
// and spans that become phases of runs.
//
// traces.cpp holds the handlers that handlers.h declares; the functions below are for assessments
// and for OTLP. Functions that take a connection run in the caller's transaction or snapshot. Any
// thread.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "compat/mlflow/api/entities.h"
#include "compat/mlflow/tables/traces.h"
#include "compat/mlflow/wire/trace_of_spans.h"

namespace corral::server::mlflow {

inline constexpr std::string_view kSpansLocationTag = "mlflow.trace.spansLocation";
inline constexpr std::string_view kFinalizedMetadata = "mlflow.trace.infoFinalized";

// Returns the tags of a new trace: the location of its artifacts.
tracking::Tags first_tags(const tracking::ExperimentRow& experiment, std::string_view trace);
// RESOURCE_DOES_NOT_EXIST (404) unless the trace exists.
Answer<tracking::TraceRow> find_trace(store::sql::Connection& db, const std::string& id);

// Formats a time as proto3 JSON does, in whole milliseconds: "2026-11-21T19:10:20.606Z".
std::string timestamp(UtcTime time);
// `path` names the field in the error.
Answer<UtcTime> parse_timestamp(std::string_view text, std::string_view path);

// Turns spans into phases of the runs that their traces belong to. Call it when the spans are
// durable. A span that is a phase already is written again, which changes nothing.
Answer<> show_spans(Context& context, std::span<const corral::mlflow::TraceOfSpans> traces);

}  // namespace corral::server::mlflow
