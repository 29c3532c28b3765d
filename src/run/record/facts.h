// What is recorded of a run beside its metrics: command, machine, code version.
#pragma once

#include <sys/types.h>
#include <atomic>
#include <functional>
#include <vector>

#include "codec/frame.h"
#include "run/command.h"
#include "run/options.h"
#include "run/set_up/kept_code.h"
#include "spool/run_directory.h"

namespace corral::run {

// Params and tags of the command line, and what is known without asking anyone: a few file reads.
std::vector<codec::Fact> quick_facts(const Options& options, const Command& command);

// The set-up (set_up/set_up.h): code, interpreter, packages, variables, what of the host makes
// measurements differ. Other programs are asked at idle priority, each for a minute at most:
// called on a thread of its own after the command has started. What cannot be had is an
// "unavailable" fact with the reason.
// `code` was kept, and takes the diff.
std::vector<codec::Fact> slow_facts(const Options& options, const Command& command,
                                    set_up::KeptCode& code);

// The code of a command that started at `started_ns` since 1970, to be kept in `directory` of the
// spool.
set_up::KeptCode code_of(const Options& options, const Command& command,
                         const spool::RunDirectory& directory, std::int64_t started_ns);

// The files of Python's modules that processes of the command have noted at their end.
std::vector<spool::fs::path> noted_modules(const spool::RunDirectory& directory);

// Of `facts` from slow_facts(), after more of the code became known: those that differ now.
std::vector<codec::Fact> facts_of_code(std::vector<codec::Fact> facts, const Command& command,
                                       const set_up::KeptCode& code);

// Hashes of the data that the command was given by path (set_up/data_hash.h), as far as `stop`
// leaves time for them.
std::vector<codec::Fact> data_facts(const Options& options, const Command& command,
                                    const std::function<bool()>& stop);

}  // namespace corral::run
