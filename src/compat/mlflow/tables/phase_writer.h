// Phases that the server writes in a run's name: spans of its traces, and radT's.
//
// All phases of one origin belong to one session of the run, whose id is derived from the run's id.
// So a begin and its end, or a span that is sent twice, become one phase, whichever server receives
// them and whenever. Concurrent writers are serialized. Any thread.
#pragma once

#include <cstdint>
#include <span>

#include "codec/frame.h"
#include "core/ids.h"
#include "core/result.h"
#include "store/store.h"

namespace corral::store::tracking {

enum class PhaseOrigin : std::uint8_t { kTraces, kRadt };

// The phases are durable when this returns. Their times are on the clock of wire/times.h; they must
// fit in one frame (phase_batches() of wire/phases_of_spans.h). kNotFound: no such run.
Result<AppendResult> write_phases(Store& store, RunId run, PhaseOrigin origin,
                                  std::span<const codec::PhaseRecord> phases);

}  // namespace corral::store::tracking
