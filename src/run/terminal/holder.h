// Holder: a tiny process that keeps the master of a run's pty open and appends the command's output
// there to the run's file.
//
// The supervisor follows that file like any other output, and holds the master, too: each of the
// two may be killed and the command never notices. A holder that is gone is replaced. It ignores
// signals and ends once the command has ended and no process has its terminal open. When the
// supervisor is gone, it restores the former modes of the user's terminal, unless another process
// has changed them since.
#pragma once

#include <sys/types.h>
#include <termios.h>

#include "core/result.h"
#include "sys/fd.h"

namespace corral::run {

// Descriptors stay the caller's; the holder has copies.
struct HolderJob {
  int master = -1;    // non-blocking
  int file = -1;      // opened for appending
  int command = -1;   // pidfd
  int terminal = -1;  // the user's terminal
  termios raw{};      // modes that the supervisor sets there
  termios former{};
};

class Holder {
 public:
  Holder() = default;
  static Result<Holder> start(const HolderJob& job);
  // False once the holder is gone; it is then reaped.
  bool lives();
  // Waits, for two seconds at most. When it returns true, all output from before this call is in
  // the file.
  bool drain();
  // Leaves the holder on its own.
  void let_go();
  [[nodiscard]] pid_t pid() const { return pid_; }

 private:
  Holder(pid_t pid, sys::Fd control) : pid_(pid), control_(std::move(control)) {}
  pid_t pid_ = 0;
  sys::Fd control_;
};

// Writes the master's present output to the file; false if no process has the terminal open. Only
// async-signal-safe calls. On a full disk output is lost, so that the command is not stopped.
bool empty_master(int master, int file);

}  // namespace corral::run
