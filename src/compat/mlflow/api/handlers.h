// The tables of calls, and what their files share; grouped by source file.
//
// Functions that take a connection run in the caller's transaction or snapshot. Any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "compat/mlflow/api/entities.h"
#include "compat/mlflow/tables/logged_models.h"
#include "compat/mlflow/tables/registry.h"
#include "compat/mlflow/tables/traces.h"
#include "compat/mlflow/wire/trace_of_spans.h"
#include "core/ids.h"
#include "core/json.h"
#include "core/result.h"
#include "server/core/context.h"

namespace corral::server::mlflow {

// routes.cpp: /api/{2.0,3.0}/... and /ajax-api/{2.0,3.0}/..., which is the same
// The MLflow release of the emulated interface.
Response mlflow_version(const Request& request, Context& context);

// Returns the error for an unknown path or method, if it is one. door::owns() the path.
// nullopt: there is no such call.
std::optional<Role> role_for(const Request& request);
std::optional<Response> no_rpc(const Request& request);

// True if the body is a file, of any content. door::owns() the path.
bool takes_file(const Request& request);

// Returns the answer; unknown paths and methods get an error in MLflow's form. door::owns() the
// path.
Response dispatch(Request request, Context& context);

// experiments.cpp
std::span<const Rpc> experiment_rpcs();

// runs.cpp
std::span<const Rpc> run_rpcs();

// metrics.cpp
std::span<const Rpc> metric_rpcs();

// artifacts.cpp
std::span<const Rpc> artifact_rpcs();
Answer<Response> get_artifact(const Request& request, Context& context);
Answer<Response> get_model_version_artifact(const Request& request, Context& context);
// Artifacts that are more than files: radT's span batches, and the spans of traces that clients of
// MLflow before 3.4 send as a file, become phases as they arrive. Call it after the artifact is
// stored and before its PUT is answered; the file itself stays as it is.
//
// Reads ".../<run>/artifacts/radt-trace/spans-000001.jsonl.gz" and
// ".../traces/<id>/artifacts/traces.json"; ignores any other `path` of the store. On an error the
// phases were not stored, and the client must send the file again. Damaged records and unknown runs
// are skipped.
Result<> on_artifact(Context& context, store::artifacts::ArtifactStore& store,
                     std::string_view path);

// registry.cpp
std::span<const Rpc> registry_rpcs();
// RESOURCE_DOES_NOT_EXIST (404) unless the model exists.
Answer<> check_registered_model(Connection& db, std::string_view name);
// RESOURCE_DOES_NOT_EXIST (404) unless the version exists.
Answer<tracking::ModelVersionRow> find_model_version(Connection& db,
                                                     const tracking::VersionKey& key);
// Returns "None", "Staging", "Production" or "Archived"; `stage` is compared without case.
Answer<std::string> canonical_stage(std::string_view stage);

// model_source.cpp
struct ModelSource {
  std::string source;
  std::string storage_location;  // empty: at `source`
  std::string run_id, model_id;
};

// `asked` without a storage location.
Answer<ModelSource> resolve_source(Connection& db, ModelSource asked);

// logged_models.cpp
std::span<const Rpc> logged_model_rpcs();
// `kFound` also finds models that were deleted.
enum class Deleted : std::uint8_t { kHidden, kFound };
// RESOURCE_DOES_NOT_EXIST (404) unless the model exists.
Answer<tracking::LoggedModelRow> find_logged_model(Connection& db, const std::string& id,
                                                   Deleted deleted = Deleted::kHidden);

// traces.cpp: records in both of MLflow's forms (v3, and v2 of clients before 3.0), and spans that
// become phases of runs
std::span<const Rpc> trace_rpcs();
inline constexpr std::string_view kSpansLocationTag = "mlflow.trace.spansLocation";
inline constexpr std::string_view kFinalizedMetadata = "mlflow.trace.infoFinalized";

// Returns the tags of a new trace: the location of its artifacts.
tracking::Tags first_tags(const tracking::ExperimentRow& experiment, std::string_view trace);
// RESOURCE_DOES_NOT_EXIST (404) unless the trace exists.
Answer<tracking::TraceRow> find_trace(Connection& db, const std::string& id);

// Formats a time as proto3 JSON does, in whole milliseconds: "2026-11-21T19:10:20.606Z".
std::string timestamp(UtcTime time);
// `path` names the field in the error.
Answer<UtcTime> parse_timestamp(std::string_view text, std::string_view path);

// Turns spans into phases of the runs that their traces belong to. Call it when the spans are
// durable. A span that is a phase already is written again, which changes nothing.
Answer<> show_spans(Context& context, std::span<const wire::TraceOfSpans> traces);

// assessments.cpp: feedback, expectations and references to issues. Each is stored with its trace,
// as checked JSON in the form that MLflow's clients read; unknown fields are dropped.
std::span<const Rpc> assessment_rpcs();
// Reads the list of assessments in a trace's record, as JSON by id.
Answer<tracking::Tags> read_assessments(Message& trace_info, const std::string& trace);

// evaluation_datasets.cpp
std::span<const Rpc> evaluation_dataset_rpcs();

// otlp.cpp
Response post_spans(const Request& request, Context& context);

}  // namespace corral::server::mlflow
