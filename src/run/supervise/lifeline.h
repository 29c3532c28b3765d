// Lifeline: a supervisor that fails still waits for its command and gives its exit status.
//
// A fault of this process (abort, std::terminate, a segmentation fault) ends the recording, not the
// run. Before the command runs, a fault executes it in place of this process. From hold() on, the
// failing thread waits for the command, forwards SIGINT and SIGTERM to it, and ends the process
// with its status. One run in a process.
#pragma once

#include <sys/types.h>

#include "run/record/relay.h"
#include "run/supervise/in_place.h"

namespace corral::run::lifeline {

// Catches faults from now on. nullptr: the command cannot be executed in place, or may run from now
// on; otherwise `in_place` outlives the guard.
void guard(const InPlace* in_place) noexcept;
// Notes that the command runs as this child.
void hold(pid_t command) noexcept;
// Notes the command's status from wait(2).
void ended(int status) noexcept;
// Notes that this thread passes the command's output on; if it fails, it does that until the end.
void passes_on(Relay& relay) noexcept;
// Ends the guard.
void release() noexcept;

// Waits for the command and returns a shell's exit status, even if other parts of this process have
// failed.
int wait() noexcept;

}  // namespace corral::run::lifeline
