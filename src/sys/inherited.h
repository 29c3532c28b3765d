// Inherited: the state that this process received from its parent, beside its arguments.
//
// A command gets it as a shell would hand it on; Corral's own helpers start clean. One in a
// process.
#pragma once

namespace corral::sys {

// Call it first of all in main(), before any thread. Keeps how signals were taken. No child's
// status is lost for a SIGCHLD that was ignored. A standard stream that is closed stays closed for
// all that is executed from here, but its number is taken: no file of this process becomes the
// output.
void note_inherited() noexcept;
// False before note_inherited().
bool ignored_at_start(int signal) noexcept;
// Signals are taken as they were at the start; before note_inherited(), by default and none
// blocked. Async-signal-safe.
void restore_signals() noexcept;
// Each by default, none blocked. Async-signal-safe.
void reset_signals() noexcept;

}  // namespace corral::sys
