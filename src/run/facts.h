// What is recorded of a run beside its metrics: command, machine, code version.
#pragma once

#include <sys/types.h>
#include <atomic>
#include <functional>
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
std::vector<codec::Fact> slow_facts(const Options& options, const Command& command);

// Hashes of the data that the command was given by path (set_up/data_hash.h), as far as `stop`
// leaves time for them.
std::vector<codec::Fact> data_facts(const Options& options, const Command& command,
                                    const std::function<bool()>& stop);

}  // namespace corral::run
