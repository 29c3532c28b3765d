// Holder: a tiny process that keeps the master of a run's pty open and appends what the command
// prints there to the run's file.
//
// The supervisor follows that file like any other output, and holds the master, too: each of the
// two may be killed and the command never notices. A holder that is gone is replaced. It ignores
// signals and leaves once the command has ended and nobody has its terminal open. When the
// supervisor is gone it gives the person's terminal its former modes back, unless somebody else has
// changed them since.
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
  int terminal = -1;  // the person's
  termios raw{};      // what the supervisor sets there
  termios former{};
};

class Holder {
 public:
  Holder() = default;
  static Result<Holder> start(const HolderJob& job);
  // False once it is gone; it is then reaped.
  bool lives();
  // Everything that was printed before this call is in the file when it returns true; waits for
  // two seconds at most.
  bool drain();
  // It goes on by itself.
  void let_go();
  [[nodiscard]] pid_t pid() const { return pid_; }

 private:
  Holder(pid_t pid, sys::Fd control) : pid_(pid), control_(std::move(control)) {}
  pid_t pid_ = 0;
  sys::Fd control_;
};

// What the master has to give now, into the file; false when nobody has the terminal open. Only
// async-signal-safe calls. A full disk loses output rather than stopping the command.
bool empty_master(int master, int file);

}  // namespace corral::run
