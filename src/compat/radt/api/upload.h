// radT's upload of its spans: batches of gzipped JSON lines and, last, a manifest that names them.
#pragma once

#include <string>
#include <vector>

#include "core/ids.h"
#include "core/result.h"
#include "server/core/context.h"

namespace corral::server::radt {

// Appends missing parts of a run's upload to `problems`: the manifest, or batches that it names. A
// run that uploaded nothing or keeps its files elsewhere has no problem. Blocks; any thread.
Result<> check_upload(Context& context, RunId run, std::vector<std::string>& problems);

}  // namespace corral::server::radt
