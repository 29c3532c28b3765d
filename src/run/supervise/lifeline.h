// Lifeline: a supervisor that fails still waits for its command and gives its exit status.
//
// A fault of this process (abort, std::terminate, a segmentation fault) ends the recording, not the
// run. Before the command runs it is executed in place of this process. From hold() on the failing
// thread waits for it, forwards SIGINT and SIGTERM to it, and ends the process with its status. One
// run in a process.
#pragma once

#include <sys/types.h>

#include "run/record/relay.h"
#include "run/supervise/in_place.h"

namespace corral::run::lifeline {

// From now on faults are caught. nullptr: the command cannot be executed in place, or may run from
// now on; else outlives this.
void guard(const InPlace* in_place) noexcept;
// The command runs as this child.
void hold(pid_t command) noexcept;
// wait(2) has given this status for it.
void ended(int status) noexcept;
// This thread passes the command's output on; where it fails, it does that until the end.
void passes_on(Relay& relay) noexcept;
// Nobody needs it any more.
void release() noexcept;

// Waits for the command and gives a shell's exit status, whatever else of this process has failed.
int wait() noexcept;

}  // namespace corral::run::lifeline
