// Supervisor: the process behind one `corral run` of one command.
//
// Starts the command in its own session, lets Recording record it, forwards Ctrl-C and limits, and
// gives its exit status. Threads: this one waits for signals; sampler, spooler and uploader do the
// rest. The command is never stopped for anything that goes wrong here.
#pragma once

#include "run/options.h"

namespace corral::run {

// The exit status for the shell: the command's own, 128 + signal when it was killed, 126 or 127
// when it could not be started.
int supervise(const Options& options);

}  // namespace corral::run
