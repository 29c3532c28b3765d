// A trace's spans as phases of the runs that it belongs to, so that they show under their charts.
//
// What a trace says of its runs and its spans come in any order: whoever stores either calls this
// when that is durable, and whichever comes last sees the other. A span that is a phase already is
// put again. Any thread.
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
// Told of every append.
using TellAppend = std::function<void(const AppendResult&)>;

// All spans that are stored of these traces, when the traces' records came;
Result<> show_stored_spans(Store& store, const Reader& reader, std::span<const std::string> traces,
                           const TellAppend& tell);
// these, when spans came.
Result<> show_spans(Store& store, const Reader& reader, std::span<const SpansOfTrace> traces,
                    const TellAppend& tell);

}  // namespace corral::store::tracking
