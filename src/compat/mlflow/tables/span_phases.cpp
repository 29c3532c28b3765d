#include "compat/mlflow/tables/span_phases.h"

#include <algorithm>
#include <map>
#include <vector>

#include "compat/mlflow/tables/phase_writer.h"
#include "compat/mlflow/tables/traces.h"
#include "compat/mlflow/wire/phases_of_spans.h"

namespace corral::store::tracking {
namespace {

using sql::Connection;
using SpansByRun = std::map<RunId, std::vector<mlflow::Span>>;

// Returns the existing runs among those that the trace came from or was linked to.
Result<std::vector<RunId>> runs_of(Connection& db, const std::string& id) {
  std::vector<RunId> runs;
  const auto trace = TRY(tracking::trace(db, id));
  if (!trace) return runs;
  Tags named = trace->runs;
  for (const auto& [key, value] : trace->metadata) {
    if (key == kSourceRun) named.emplace_back(value, "");
  }
  for (const auto& [text, unused] : named) {
    const auto run = RunId::parse(text);
    if (!run || std::ranges::find(runs, *run) != runs.end()) continue;
    if (TRY(db.number("SELECT key FROM runs WHERE id = ?1", *run))) runs.push_back(*run);
  }
  return runs;
}

Result<SpansByRun> stored_spans(Connection& db, std::span<const std::string> traces) {
  SpansByRun out;
  for (const std::string& id : traces) {
    const auto runs = TRY(runs_of(db, id));
    if (runs.empty()) continue;
    for (const std::string& content : TRY(spans_of(db, id))) {
      const auto span = mlflow::decode_span(content);
      if (!span) continue;
      for (const RunId run : runs) out[run].push_back(*span);
    }
  }
  return out;
}

Result<SpansByRun> given_spans(Connection& db, std::span<const SpansOfTrace> traces) {
  SpansByRun out;
  for (const SpansOfTrace& trace : traces) {
    for (const RunId run : TRY(runs_of(db, std::string(trace.trace)))) {
      for (const mlflow::Span* span : trace.spans) out[run].push_back(*span);
    }
  }
  return out;
}

Result<> write(Store& store, const SpansByRun& by_run, const TellAppend& tell) {
  for (const auto& [run, spans] : by_run) {
    const auto phases = mlflow::phases_of_spans(spans);
    for (const auto& batch : mlflow::phase_batches(phases))
      tell(TRY(write_phases(store, run, PhaseOrigin::kTraces, batch)));
  }
  return {};
}

}  // namespace

Result<> show_stored_spans(Store& store, const Reader& reader, std::span<const std::string> traces,
                           const TellAppend& tell) {
  SpansByRun spans;
  const Inspect read = [&](sql::Reading& reading) -> Result<> {
    spans = TRY(stored_spans(reading.db, traces));
    return {};
  };
  TRY(reader.inspect(read));
  return write(store, spans, tell);
}

Result<> show_spans(Store& store, const Reader& reader, std::span<const SpansOfTrace> traces,
                    const TellAppend& tell) {
  SpansByRun spans;
  const Inspect read = [&](sql::Reading& reading) -> Result<> {
    spans = TRY(given_spans(reading.db, traces));
    return {};
  };
  TRY(reader.inspect(read));
  return write(store, spans, tell);
}

}  // namespace corral::store::tracking
