// Spans that MLflow 3.5 and newer keep in their database, as if they had come by OTLP: kept with
// their traces, and phases of the runs that those belong to.
//
// A span that is stored already is not looked at again. A page of spans becomes phases first: an
// import that is killed between the two does both again, and a phase that is there is put over
// itself. Traces and what they say of runs must be there.
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
  std::int64_t archived = 0;          // whose content is somewhere else
  std::vector<std::string> unread{};  // the first few: which, and why
};
Result<CopiedSpans> copy_spans(Source& source, Store& store, const Reader& reader,
                               const maintain::Watch& watch);

}  // namespace corral::store::importing
