// Terminal: the pty of a command whose run is started at a terminal, and the user's terminal around
// it.
//
// The user's terminal is raw while the supervisor is in its foreground: input goes to the command's
// terminal byte for byte, and the command's output comes back byte for byte (through the run's
// file, see holder.h). Only the keys for interrupt, quit and suspend, as the command has set them,
// are the supervisor's; a shell inside the run that gave its terminal to another of its jobs gets
// them, too. One thread.
#pragma once

#include <poll.h>
#include <termios.h>

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "core/result.h"
#include "run/terminal/holder.h"
#include "sys/fd.h"

namespace corral::run {

class Terminal {
 public:
  // nullptr: standard input, output and error are not one terminal, or there is no free pty.
  static std::unique_ptr<Terminal> open();
  ~Terminal();
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  // Returns the command's side: its standard input, output and error.
  [[nodiscard]] int slave() const { return slave_.get(); }
  // Starts the holder when the command has its side: `file`, a descriptor for appending, takes its
  // output.
  Result<> hold(pid_t child, sys::Fd file);
  // Makes the terminal raw if this process is in the foreground; call it at every wake.
  void enter();
  // Restores the terminal's modes for good.
  void leave();

  // Returns the descriptors to poll beside signals: keys, and room for them at the command's side.
  [[nodiscard]] std::array<pollfd, 2> waits() const;
  // Passes keys on; returns the signals that they stand for (SIGINT, SIGQUIT, SIGTSTP).
  std::vector<int> read_keys(const std::array<pollfd, 2>& ready);
  // Passes the window's size to the command.
  void resize() const;
  // Stops the command and this process, as Ctrl-Z does; returns when both go on.
  void suspend(bool command_lives);
  // Replaces a holder that was killed.
  void tend();
  // Waits until the command's output is in the file.
  void drain();

 private:
  Terminal(sys::Fd master, sys::Fd slave, const termios& former);
  [[nodiscard]] bool in_foreground() const;
  [[nodiscard]] std::vector<int> split_keys(std::string_view typed);
  void write_keys();
  void restore();

  sys::Fd master_;
  sys::Fd slave_;
  sys::Fd file_;
  sys::Fd command_;  // pidfd
  pid_t child_ = 0;
  termios former_;
  termios raw_;
  bool entered_ = false;
  bool left_ = false;
  bool closed_ = false;  // the user's terminal is gone
  std::string keys_;     // not yet taken by the command's terminal
  Holder holder_;
};

}  // namespace corral::run
