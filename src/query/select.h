// RUN as people write it: 32 hex digits, a unique prefix of at least 4, a name (the newest run of
// it), or @N for the N-th newest.
#pragma once

#include <string_view>

#include "core/ids.h"
#include "core/result.h"
#include "store/reader.h"

namespace corral::query {

// kNotFound, also for a prefix that is too short; kInvalidArgument for an ambiguous one. The
// message names the valid forms.
Result<RunId> select_run(const store::Reader& store, std::string_view text);

}  // namespace corral::query
