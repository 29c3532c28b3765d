// Raw points of a run, streamed: nothing is held but one batch and one buffer.
//
// Rows come series by series, each in order of arrival, which is the order of logging within one
// process. What is damaged and could not be read is marked where it is missing.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "core/ids.h"
#include "core/result.h"
#include "store/store.h"

namespace corral::query {

enum class ExportFormat : std::uint8_t { kCsv, kJson, kJsonLines };

struct ExportRequest {
  RunId run;
  std::string metric = "*";  // glob over metric names, of the run and of its workload
  ExportFormat format = ExportFormat::kCsv;
};

// Takes the next piece of the file; false: no more is wanted.
using ExportSink = std::function<bool(std::string_view)>;

// CSV (quoted as in RFC 4180, lines end in LF): metric,source,time_ns,step,value; two rows without
// a value are the begin and end of a gap (times empty: unknown). JSON lines: {"run", "metric",
// "source", "time_ns", "step", "value"}, a gap {"run", "metric", "source", "gap": {"from_ns",
// "to_ns"}}. JSON: {"run": id, "points": [the same without run], "gaps": [...]}. Times and steps
// in JSON are decimal strings; values are the shortest text that reads back to the same number;
// NaN, Infinity and -Infinity by name. kNotFound (nothing was given to the sink) when no metric
// matches.
Result<> export_points(store::Store& store, const ExportRequest& request, const ExportSink& sink);

}  // namespace corral::query
