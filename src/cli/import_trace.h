// The trace of a profiler, in Chrome's JSON format, as phases of a run: `corral import`.
//
// A session's id follows from the run and the text of the trace, so that importing the same trace
// again writes the same phases and adds none; so does the id of a run that a trace makes.
#pragma once

#include <string>

#include "cli/destination.h"

namespace corral::cli {

struct TraceFlags {
  DestinationFlags destination;
  std::string file, run, name;  // without a run: a new one
  std::string experiment;
  bool operators = false;
};

// Returns true if the file begins as JSON or gzip does.
bool is_trace_file(const std::string& file);
// Prints what was imported, or the error. Returns the exit status.
int import_trace(const TraceFlags& flags);

}  // namespace corral::cli
