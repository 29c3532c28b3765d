// Lifeline: a command gets its exit status even where its supervisor fails.
//
// A fault of this process (abort, std::terminate, a segmentation fault) ends the recording, not the
// run. Before the command runs, a fault executes it in place of this process. From hold() on, the
// failing thread waits for the command, forwards SIGINT and SIGTERM to it, and ends the process
// with its status. One run in a process.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>
#include <vector>

#include "run/options.h"
#include "run/record/relay.h"

namespace corral::run {

// "corral run: not recorded: REASON; running the command", on standard error. Allocates nothing.
void say_not_recorded(std::string_view reason) noexcept;

// InPlace: executes the command in place of its supervisor if nothing else works. It is made before
// anything of the run. execute() needs no memory, threads, processes or descriptors: it works
// whenever a shell could start the command.
class InPlace {
 public:
  // `options` need not outlive this.
  explicit InPlace(const Options& options);
  // False: the command needs something that an exec cannot give (an environment, a container, a
  // scheduler's gate or its groups), or there is no command.
  [[nodiscard]] bool possible() const { return possible_; }
  // Executes the command with this process's own streams and environment (and the Python package,
  // which a script may import), and with the original signal handling. Returns only if it cannot be
  // executed: a shell's exit status, after a line with the reason.
  int execute(std::string_view reason) const noexcept;

 private:
  bool possible_;
  std::vector<std::string> words_, entries_;
  std::vector<char*> argv_, environment_;
};

namespace lifeline {

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

}  // namespace lifeline

}  // namespace corral::run
