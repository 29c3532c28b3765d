// The durable state of a run: a text that changes with its facts and with what its sessions store.
// Free function over the caller's snapshot.
#pragma once

#include <string>

#include "core/ids.h"
#include "core/result.h"
#include "store/model/transaction.h"

namespace corral::store::page {

// Metrics of its host that other workloads recorded are not seen. Empty: there is no such run.
Result<std::string> run_state(Reading& reading, RunId run);

}  // namespace corral::store::page
