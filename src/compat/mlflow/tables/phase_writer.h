// Sessions that the server writes in a run's name: points and phases that a client logged.
//
// All phases of one origin (spans of the run's traces, and radT's) belong to one session of the
// run, whose id is derived from the run's id. So a begin and its end, or a span that is sent twice,
// become one phase, whichever server receives them and whenever. Concurrent writers are serialized.
// Any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "codec/frame.h"
#include "compat/mlflow/wire/span.h"
#include "core/ids.h"
#include "core/result.h"
#include "store/reader.h"
#include "store/store.h"

namespace corral::store::tracking {

// Returns the session in which points or phases are stored. The run must exist: its own workload
// and experiment take precedence over those named here.
codec::SessionBody client_session(RunId run);

enum class PhaseOrigin : std::uint8_t { kTraces, kRadt };

// The phases are durable when this returns. Their times are on the clock of wire/times.h; they must
// fit in one frame (phase_batches() of wire/phases_of_spans.h). kNotFound: no such run.
Result<AppendResult> write_phases(Store& store, RunId run, PhaseOrigin origin,
                                  std::span<const codec::PhaseRecord> phases);

// ---- a trace's spans as phases of the runs that it belongs to, so that they show under their
// charts
//
// A trace's record (which names its runs) and its spans arrive in any order. The caller that stores
// either calls these functions once that is durable; the later call sees both. A span that is a
// phase already is written again, which changes nothing.

struct SpansOfTrace {
  std::string_view trace;
  std::span<const mlflow::Span* const> spans;
};
// Called after every append.
using TellAppend = std::function<void(const AppendResult&)>;

// All spans that are stored of these traces, when the traces' records came;
Result<> show_stored_spans(Store& store, const Reader& reader, std::span<const std::string> traces,
                           const TellAppend& tell);
// these, when spans came.
Result<> show_spans(Store& store, const Reader& reader, std::span<const SpansOfTrace> traces,
                    const TellAppend& tell);

}  // namespace corral::store::tracking
