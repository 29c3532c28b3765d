// A trace derived from its spans, for traces whose own record is late or never sent (OTLP alone).
//
// Its times span all spans; state and previews are the root's. Tags are the resource's attributes
// and the root's mlflow.traceTag.*; session and user are metadata. Pure, any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "compat/mlflow/wire/otlp.h"

namespace corral::mlflow {

struct TraceOfSpans {
  std::string id;
  std::vector<const Span*> spans;  // in the export; never empty
  std::int64_t start_ns = 0;
  std::optional<std::int64_t> end_ns;  // the last end; nullopt if none has ended
  std::optional<SpanStatus> root;      // nullopt: the root is not among them
  std::string request, response;       // previews, at most kPreviewLength code points
  std::vector<std::pair<std::string, std::string>> tags, metadata;
};

inline constexpr std::size_t kPreviewLength = 1000;
inline constexpr std::size_t kTraceValueLength = 8000;  // code points of a tag

// Returns traces in the order of their first spans.
std::vector<TraceOfSpans> traces_from_spans(const SpanExport& spans);

}  // namespace corral::mlflow
