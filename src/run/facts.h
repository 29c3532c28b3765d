// What is recorded of a run beside its metrics: command, machine, code version.
#pragma once

#include <sys/types.h>
#include <atomic>
#include <vector>

#include "codec/frame.h"
#include "run/command.h"
#include "run/options.h"

namespace corral::run {

// Params and tags of the command line, and what is known without asking anyone: a few file reads.
std::vector<codec::Fact> quick_facts(const Options& options, const Command& command);

// The set-up (set_up/set_up.h): code, interpreter, packages, variables, what of the host makes
// measurements differ. Other programs are asked at idle priority, each for at most ten seconds:
// called on a thread of its own after the command has started. What cannot be had is an
// "unavailable" fact with the reason.
std::vector<codec::Fact> slow_facts(const Command& command);

}  // namespace corral::run
