// The durable state of a run: a text that changes whenever more of it is stored. Free function over
// the caller's snapshot.
#pragma once

#include <string>

#include "core/ids.h"
#include "core/result.h"
#include "store/model/transaction.h"

namespace corral::store::page {

// Counts what the sessions of the run's workload have made durable; a host's metrics that another
// workload recorded are not seen. Empty: there is no such run.
Result<std::string> run_state(Reading& reading, RunId run);

}  // namespace corral::store::page
