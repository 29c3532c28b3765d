// Traces as MLflow's interface keeps them: rows of `traces`, `trace_facts` and `spans`.
//
// Free functions over a connection, in the caller's transaction or snapshot. A span's content is
// encoded by wire/span.h. A trace's record may arrive before or after its spans, and more than
// once: later rows overwrite earlier ones.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/ids.h"
#include "core/result.h"
#include "core/time.h"
#include "store/engine/database.h"
#include "store/search/experiments.h"
#include "store/search/search.h"

namespace corral::store::tracking {

// The numbers of MLflow's enum.
enum class TraceState : std::uint8_t { kUnspecified = 0, kOk = 1, kError = 2, kInProgress = 3 };
inline constexpr std::array<std::string_view, 4> kTraceStates = {"STATE_UNSPECIFIED", "OK", "ERROR",
                                                                 "IN_PROGRESS"};

// `kind` of trace_facts. A run's key is its id, the value empty: a run that the trace was linked
// to, beside the one that it came from (metadata mlflow.sourceRun). An assessment's key is its id,
// the value its JSON.
enum class TraceFact : std::uint8_t { kMetadata = 0, kTag = 1, kRun = 2, kAssessment = 3 };
inline constexpr std::string_view kSourceRun = "mlflow.sourceRun";

struct TraceRow {
  std::string id;
  ExperimentId experiment;
  std::string client_request_id, request_preview, response_preview;  // empty: none
  UtcTime start;
  std::optional<Nanos> duration;
  TraceState state = TraceState::kUnspecified;
  Tags metadata, tags;    // by key
  Tags runs;              // as keys
  Tags assessments = {};  // JSON, by id
};

// Inserts the trace, or overwrites its columns and adds its facts; an empty preview keeps the
// stored one. Column source_run is derived from the metadata.
Result<> put_trace(sql::Connection& db, const TraceRow& trace);
// Returns traces in the order of `ids`; unknown ids are skipped.
Result<std::vector<TraceRow>> traces(sql::Connection& db, std::span<const std::string> ids);
Result<std::optional<TraceRow>> trace(sql::Connection& db, const std::string& id);
// Like trace(), and locks the row until the transaction ends (PostgreSQL, where others write, too).
Result<std::optional<TraceRow>> lock_trace(sql::Connection& db, const std::string& id);
Result<bool> has_trace(sql::Connection& db, const std::string& id);

Result<> set_trace_fact(sql::Connection& db, const std::string& trace, TraceFact kind,
                        std::string_view key, std::string_view value);
// Returns false if there was no such fact.
Result<bool> delete_trace_fact(sql::Connection& db, const std::string& trace, TraceFact kind,
                               std::string_view key);

// Inserts or replaces a span. The trace must exist.
Result<> put_span(sql::Connection& db, const std::string& trace, std::string_view id,
                  std::string_view content);
// Returns the contents of the trace's spans, ordered by span id.
Result<std::vector<std::string>> read_spans(sql::Connection& db, const std::string& trace);

struct TraceRemoval {
  ExperimentId experiment;
  std::vector<std::string> ids;     // these,
  std::optional<UtcTime> no_later;  // or those that started until then, the oldest first
  std::int64_t limit = 0;           // at most; 0: all
};
// Deletes traces with their spans; returns the number of traces.
Result<std::int64_t> delete_traces(sql::Connection& db, const TraceRemoval& removal);

// ---- searches (store/search/search.h)

struct TraceSearch {
  std::vector<ExperimentId> experiments;
  Search search;
};
// Ids. The newest first, then by id, where orders leave it open.
Result<Found<std::string>> search_traces(sql::Connection& db, const TraceSearch& search);

}  // namespace corral::store::tracking
