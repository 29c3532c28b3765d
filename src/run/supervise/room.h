// Room: tests if the limits of this process allow a recording beside its command.
//
// A recording that reaches a limit half-way leaves the command less than a shell would have left
// it, so the limits are tested before anything is started.
#pragma once

#include "core/result.h"
#include "run/options.h"

namespace corral::run {

// The error names the limit. Takes a few milliseconds. Call it before any thread is started: it
// also makes the stacks of later threads small where memory is limited.
Result<> room_to_record(const Options& options);

}  // namespace corral::run
