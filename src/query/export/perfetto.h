// A run's phases, events and metrics as a Perfetto trace (https://perfetto.dev/docs), in parts.
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
#include "query/export/export.h"
#include "store/reader.h"

namespace corral::query {

struct PerfettoRequest {
  RunId run;
  std::string metric = "*";  // glob over metric names; no counters if none matches
};
// Its parts are a page of phases, or kPartBytes of the rest. kNotFound of a part: there is no such
// run, or it was removed meanwhile.
PartStream export_trace(const store::Reader& store, PerfettoRequest request);

// Calls `visit(phase)` for every phase that has begun, in the order that LaneStacks needs, until it
// returns false. A phase whose end lies before its begin ends at its begin.
Result<> walk_phases(const store::Reader& store, RunId run,
                     const std::function<bool(const store::Phase&)>& visit);

}  // namespace corral::query
