// A span as MLflow's databases keep it: the JSON text in `spans.content`, since 3.5; and its files.
//
// Values of attributes are JSON texts of their own there; here they are what those say, as OTLP
// would have brought them. Ids in base64, in hex, or as trace ids of MLflow's. Pure, any thread.
#pragma once

#include <string_view>
#include <vector>

#include "compat/mlflow/wire/span.h"
#include "core/result.h"

namespace corral::mlflow {

// kInvalidArgument, kUnprocessable: it is no such span, and why.
Result<Span> parse_span_json(std::string_view content);
// The spans of a trace that is kept as a file, `traces.json`: as MLflow 2 sends them, and 3 before
// 3.4. What is no span is left out. kInvalidArgument: it is no such file.
Result<std::vector<Span>> parse_trace_file(std::string_view content);

}  // namespace corral::mlflow
