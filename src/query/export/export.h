// Raw points of a run, in parts: between two of them nothing of the store is held.
//
// Rows come series by series, each in order of arrival, which is the order of logging within one
// process. Damaged parts that could not be read are marked at their place.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "core/ids.h"
#include "core/result.h"
#include "store/reader.h"

namespace corral::query {

// Appends the next part to the text; true: there is more. The store must outlive it.
using PartStream = std::function<Result<bool>(std::string& text)>;

enum class ExportFormat : std::uint8_t { kCsv, kJson, kJsonLines };

struct ExportRequest {
  RunId run;
  std::string metric = "*";  // glob over metric names, of the run and of its workload
  ExportFormat format = ExportFormat::kCsv;
};

// CSV (quoted as in RFC 4180, lines end in LF): metric,source,time_ns,step,value; two rows without
// a value are the begin and end of a gap (times empty: unknown). JSON lines: {"run", "metric",
// "source", "time_ns", "step", "value"}, a gap {"run", "metric", "source", "gap": {"from_ns",
// "to_ns"}}. JSON: {"run": id, "points": [the same without run], "gaps": [...]}. Times and steps
// in JSON are decimal strings; values are the shortest text that reads back to the same number;
// NaN, Infinity and -Infinity by name.
// kNotFound when no metric matches. Its parts are kPartBytes and the rest of a block. kNotFound of
// a part: the run was removed meanwhile.
Result<PartStream> export_points(const store::Reader& store, const ExportRequest& request);

// A good length for a part of an answer: a slow reader holds one in memory.
inline constexpr std::size_t kPartBytes = 64u << 10;

}  // namespace corral::query
