// Phases that the server writes in a run's name: spans of its traces, and radT's.
//
// All phases of one origin belong to one session of the run, whose id is made of the run's, so that
// a begin and an end, and the same span sent again, meet in one phase, whichever server takes them
// and whenever. Two that write at the same time come one after the other. Any thread.
#pragma once

#include <cstdint>
#include <span>

#include "codec/frame.h"
#include "core/ids.h"
#include "core/result.h"
#include "store/store.h"

namespace corral::store::tracking {

enum class PhaseOrigin : std::uint8_t { kTraces, kRadt };

// Durable when this returns. Times are on mlflow/times.h's clock; at most what one frame holds
// (mlflow/phases_of_spans.h, phase_batches). kNotFound: there is no such run.
Result<AppendResult> write_phases(Store& store, RunId run, PhaseOrigin origin,
                                  std::span<const codec::PhaseRecord> phases);

}  // namespace corral::store::tracking
