// Terminal: the pty that a command gets when its run is started at a terminal, and the person's
// terminal around it.
//
// The person's terminal is raw while the supervisor is in its foreground: what is typed goes to the
// command's terminal byte for byte, and what the command prints comes back byte for byte (through
// the run's file, see holder.h). Only the keys for interrupt, quit and suspend, as the command has
// them set, are the supervisor's; a shell inside the run that gave its terminal to another of its
// jobs gets them, too. One thread.
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
  // nullptr: standard input, output and error are not one terminal, or no pty is to be had.
  static std::unique_ptr<Terminal> open();
  ~Terminal();
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  // The command's side: standard input, output and error.
  [[nodiscard]] int slave() const { return slave_.get(); }
  // The command has its side: `file` takes what it prints (a descriptor for appending).
  Result<> hold(pid_t child, sys::Fd file);
  // Raw, as long as this process is in the foreground; asked again at every wake.
  void enter();
  // As it was, for good.
  void leave();

  // What to wait for beside signals: keys, and room for them at the command's side.
  [[nodiscard]] std::array<pollfd, 2> waits() const;
  // Passes keys on; gives the signals that they stand for (SIGINT, SIGQUIT, SIGTSTP).
  std::vector<int> take_keys(const std::array<pollfd, 2>& ready);
  // The window's size, to the command.
  void resize() const;
  // Stops the command and this process, as Ctrl-Z does; comes back when both go on.
  void suspend(bool command_lives);
  // A holder that was killed is replaced.
  void tend();
  // Everything that the command printed is in the file.
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
  bool closed_ = false;  // the person's terminal is gone
  std::string keys_;     // not yet taken by the command's terminal
  Holder holder_;
};

}  // namespace corral::run
