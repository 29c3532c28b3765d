#include "compat/mlflow/tables/phase_writer.h"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "compat/mlflow/tables/traces.h"
#include "compat/mlflow/wire/phases_of_spans.h"
#include "compat/mlflow/wire/times.h"
#include "core/sha256.h"
#include "store/engine/database.h"

namespace corral::store::tracking {
namespace {

// An attempt fails if another process wrote meanwhile.
constexpr int kAttempts = 100;

SessionId phase_session(RunId run, PhaseOrigin origin) {
  const Sha256 hash = sha256(
      (origin == PhaseOrigin::kTraces ? "phases of traces " : "phases of radt ") + run.hex());
  SessionId id;
  std::copy_n(hash.begin(), id.bytes.size(), id.bytes.begin());
  return id;
}

// One number of the session further than `durable`, two when it is new.
std::vector<codec::Bytes> encoded(RunId run, SessionId session, std::uint64_t durable,
                                  std::span<const codec::PhaseRecord> phases) {
  std::vector<codec::Bytes> bytes;
  codec::FrameHeader header{.session = session, .first = durable + 1, .last = durable + 1};
  if (durable == 0) {
    bytes.push_back(codec::encode(header, client_session(run)));
    header.first = header.last = 2;
  }
  bytes.push_back(codec::encode(header, codec::PhasesBody{{phases.begin(), phases.end()}}));
  return bytes;
}

using sql::Connection;
using SpansByRun = std::map<RunId, std::vector<mlflow::Span>>;

// Returns the existing runs among those that the trace came from or was linked to.
Result<std::vector<RunId>> find_runs(Connection& db, const std::string& id) {
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
    const auto runs = TRY(find_runs(db, id));
    if (runs.empty()) continue;
    for (const std::string& content : TRY(read_spans(db, id))) {
      const auto span = mlflow::decode_span(content);
      if (!span) continue;
      for (const RunId run : runs) out[run].push_back(*span);
    }
  }
  return out;
}

Result<SpansByRun> spans_by_run(Connection& db, std::span<const SpansOfTrace> traces) {
  SpansByRun out;
  for (const SpansOfTrace& trace : traces) {
    for (const RunId run : TRY(find_runs(db, std::string(trace.trace)))) {
      for (const mlflow::Span* span : trace.spans) out[run].push_back(*span);
    }
  }
  return out;
}

// Writes the phases of the spans that `read(db)` returns.
template <class Read>
Result<> show(Store& store, const Reader& reader, Read&& read, const TellAppend& tell) {
  SpansByRun by_run;
  const Inspect inspect = [&](sql::Reading& reading) -> Result<> {
    by_run = TRY(read(reading.db));
    return {};
  };
  TRY(reader.inspect(inspect));
  for (const auto& [run, spans] : by_run) {
    const auto phases = mlflow::phases_of_spans(spans);
    for (const auto& batch : mlflow::phase_batches(phases))
      tell(TRY(write_phases(store, run, PhaseOrigin::kTraces, batch)));
  }
  return {};
}

}  // namespace

codec::SessionBody client_session(RunId run) {
  codec::SessionBody body;
  body.run = run;
  body.workload = own_workload_of(run);
  body.experiment = "Default";
  body.role = "client";
  body.boot_id = "client";
  body.anchor = mlflow::kClientAnchor;
  return body;
}

Result<AppendResult> write_phases(Store& store, RunId run, PhaseOrigin origin,
                                  std::span<const codec::PhaseRecord> phases) {
  const SessionId session = phase_session(run, origin);
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    const auto known = TRY(store.session(session));
    const std::uint64_t durable = known ? known->durable_seq : 0;
    const auto bytes = encoded(run, session, durable, phases);
    std::vector<codec::Frame> frames;
    frames.reserve(bytes.size());
    for (const codec::Bytes& one : bytes) frames.push_back(TRY(codec::decode_frame(one)));
    // A number that somebody else took meanwhile would be acknowledged and ignored.
    bool late = false;
    const auto before = [&](sql::Connection& db) -> Result<> {
      late = false;
      if (!TRY(db.number("SELECT 1 FROM runs WHERE id = ?1", run)))
        return fail(Code::kNotFound, "there is no run " + run.hex());
      const auto now = TRY(db.number(
          "SELECT durable_seq FROM sessions WHERE id = ?1" + std::string(db.dialect().lock_row),
          session));
      late = static_cast<std::uint64_t>(now.value_or(0)) != durable;
      return late ? Result<>(fail(Code::kUnprocessable, "another wrote")) : Result<>();
    };
    auto stored = store.append(frames, before);
    if (late) continue;
    if (!stored || stored->refusals.empty()) return stored;
    if (stored->refusals.front().error.code != Code::kConflict)
      return tl::unexpected(stored->refusals.front().error);
  }
  return fail(Code::kUnavailable, "too many write phases of run " + run.hex() + " at once");
}

Result<> show_stored_spans(Store& store, const Reader& reader, std::span<const std::string> traces,
                           const TellAppend& tell) {
  return show(
      store, reader, [&](Connection& db) { return stored_spans(db, traces); }, tell);
}

Result<> show_spans(Store& store, const Reader& reader, std::span<const SpansOfTrace> traces,
                    const TellAppend& tell) {
  return show(
      store, reader, [&](Connection& db) { return spans_by_run(db, traces); }, tell);
}

}  // namespace corral::store::tracking
