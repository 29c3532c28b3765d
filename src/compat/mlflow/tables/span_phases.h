// A trace's spans as phases of the runs that it belongs to, so that they show under their charts.
//
// A trace's record (which names its runs) and its spans arrive in any order. The caller that stores
// either calls these functions once that is durable; the later call sees both. A span that is a
// phase already is written again, which changes nothing. Any thread.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "compat/mlflow/wire/span.h"
#include "core/result.h"
#include "store/reader.h"
#include "store/store.h"

namespace corral::store::tracking {

struct SpansOfTrace {
  std::string_view trace;
  std::span<const mlflow::Span* const> spans;
};
// Called after every append.
using TellAppend = std::function<void(const AppendResult&)>;

// All spans that are stored of these traces, when the traces' records came;
Result<> show_stored_spans(Store& store, const Reader& reader, std::span<const std::string> traces,
                           const TellAppend& tell);
// these, when spans came.
Result<> show_spans(Store& store, const Reader& reader, std::span<const SpansOfTrace> traces,
                    const TellAppend& tell);

}  // namespace corral::store::tracking
