// A run's phases, events and metrics as a Perfetto trace (https://perfetto.dev/docs), streamed.
//
// Each lane is a thread of one process, with further tracks where its phases overlap without
// nesting; links and radT's flow ids are arrows; attributes are the slices' arguments; metrics are
// counter tracks; events are instants. Times are Unix nanoseconds. A phase without an end is a
// slice without one. Memory does not grow with the number of phases and points.
#pragma once

#include <functional>
#include <string>

#include "core/ids.h"
#include "core/result.h"
#include "query/export.h"
#include "store/store.h"

namespace corral::query {

struct PerfettoRequest {
  RunId run;
  std::string metric = "*";  // glob over metric names; what matches none has no counters
};
Result<> export_perfetto(store::Store& store, const PerfettoRequest& request,
                         const ExportSink& sink);

// Calls `take(phase)` for every phase that has begun, in the order that LaneStacks wants, until it
// gives false. What ends before it begins ends at its begin.
Result<> walk_phases(store::Store& store, RunId run,
                     const std::function<bool(const store::Phase&)>& take);

}  // namespace corral::query
