// Supervisor: the process behind one `corral run` of one command.
//
// It starts the command in a session of its own, lets Recording record it, forwards Ctrl-C and
// limits, and returns its exit status. Threads: this one waits for signals; sampler, spooler and
// uploader do the rest. A failure here never stops the command.
#pragma once

#include "run/options.h"

namespace corral::run {

// Returns the exit status for the shell: the command's own, 128 + signal if it was killed, 126 or
// 127 if it could not be started.
int supervise(const Options& options);

}  // namespace corral::run
