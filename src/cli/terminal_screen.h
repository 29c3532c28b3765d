// TerminalScreen: the user's terminal while a command shows pictures on it: raw, on its alternate
// screen, without a cursor.
//
// The destructor restores it, whatever key or signal ends the command, but kill -9 and a crash.
// Nothing here blocks: bytes that a stopped terminal does not take wait. One thread.
#pragma once

#include <poll.h>
#include <termios.h>

#include <cstddef>
#include <string>
#include <utility>

#include "sys/fd.h"

namespace corral::cli {

class TerminalScreen {
 public:
  // True if standard input and output are a terminal that can place its cursor (TERM).
  static bool usable();
  TerminalScreen();
  ~TerminalScreen();
  TerminalScreen(const TerminalScreen&) = delete;
  TerminalScreen& operator=(const TerminalScreen&) = delete;

  // Makes the terminal raw and shows the alternate screen, which is then to be drawn anew: at
  // first, and after a stop, because a shell may have changed both.
  void enter();
  // Restores the terminal, stops this job as Ctrl-Z does, and enters again when it goes on. SIGTSTP
  // must be blocked.
  void suspend();
  // Rows and columns, each at least 1.
  [[nodiscard]] static std::pair<std::size_t, std::size_t> size();
  // True if all bytes have been taken.
  bool flush();
  // Sends bytes after those that wait.
  void send(const std::string& bytes);
  // Keys that can be read.
  [[nodiscard]] static pollfd keys() {
    return {.fd = STDIN_FILENO, .events = POLLIN, .revents = 0};
  }
  // Appends what was typed; false: the terminal is gone.
  static bool read(std::string& typed);

 private:
  void leave();

  sys::Fd out_;  // not shared with other programs: it does not block
  termios former_{};
  std::string waiting_;
};

}  // namespace corral::cli
