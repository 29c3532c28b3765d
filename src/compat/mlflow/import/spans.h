// Copies spans from the database of MLflow 3.5 and newer as if OTLP had sent them: they are stored
// with their traces and become phases of the traces' runs.
//
// Stored spans are skipped. A page of spans is written as phases first: an import that was killed
// in between repeats both, which changes nothing. Traces and their runs must be imported before.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "compat/mlflow/import/source.h"
#include "core/result.h"
#include "store/maintain/watch.h"
#include "store/reader.h"
#include "store/store.h"

namespace corral::store::importing {

inline constexpr std::string_view kSpans = "spans";

struct CopiedSpans {
  std::int64_t added = 0;
  std::int64_t archived = 0;          // their content is in another place
  std::vector<std::string> unread{};  // the first few: which, and why
};
Result<CopiedSpans> copy_spans(Source& source, Store& store, const Reader& reader,
                               const maintain::Watch& watch);

}  // namespace corral::store::importing
