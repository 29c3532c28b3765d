// Spans as MLflow stores them: JSON in its database (`spans.content`, since 3.5) and in trace
// files.
//
// Attribute values are JSON texts there; they are parsed here, so that spans equal those of OTLP.
// Ids are base64, hex, or MLflow's trace ids. Pure, any thread.
#pragma once

#include <string_view>
#include <vector>

#include "compat/mlflow/wire/span.h"
#include "core/result.h"

namespace corral::mlflow {

// kInvalidArgument or kUnprocessable with the reason if the text is no such span.
Result<Span> parse_span_json(std::string_view content);
// Reads the spans of a trace file, `traces.json`, which clients before MLflow 3.4 send. Skips
// entries that are no spans. kInvalidArgument: not such a file.
Result<std::vector<Span>> parse_trace_file(std::string_view content);

}  // namespace corral::mlflow
