// Processes that a command starts and waits for: measured, and ended with it.
//
// The wait for a process receives SIGINT, SIGTERM and SIGHUP, which Interrupts blocks. The first of
// them ends the process (SIGTERM, after 8 s SIGKILL to its whole session) and is remembered. One
// thread.
#pragma once

#include <signal.h>
#include <sys/time.h>
#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "core/result.h"
#include "core/time.h"

namespace corral::cli {

// Blocks the signals for as long as it lives; there is one.
class Interrupts {
 public:
  Interrupts();
  ~Interrupts();
  Interrupts(const Interrupts&) = delete;
  Interrupts& operator=(const Interrupts&) = delete;
  // Waits for one of the signals, a child's end or the time; true once this command is to end.
  bool wait(Nanos time);
  [[nodiscard]] bool asked() const { return asked_; }

 private:
  sigset_t signals_, before_;
  bool asked_ = false;
};

struct ChildOptions {
  std::vector<std::string> argv;  // argv[0] is searched in $PATH
  std::vector<std::string> environment;
  std::filesystem::path output, error_output;  // appended to; empty: /dev/null
  int processor = -1;                          // the only one it may run on; -1: any
};

// The end of a process, and the resources that it and the children that it waited for took.
struct ChildEnd {
  int status = 0;  // as of wait()
  double cpu_s = 0;
  std::int64_t peak_bytes =
      0;  // resident, of the process alone, as seen at most 0.5 s before its end
  std::int64_t written_bytes = 0;
};

class Child {
 public:
  static Result<Child> start(const ChildOptions& options);
  Child(Child&& other) noexcept : pid_(std::exchange(other.pid_, 0)), peak_(other.peak_) {}
  Child& operator=(Child&&) = delete;
  ~Child();  // kills the process if it is still there

  [[nodiscard]] pid_t pid() const { return pid_; }
  [[nodiscard]] bool ended() const;
  // CPU seconds so far of it and its descendants, those that are over to the clock tick.
  [[nodiscard]] double cpu_s() const;
  // Bytes that they handed to write calls.
  [[nodiscard]] std::int64_t written_bytes() const;
  // Until it ends by itself; ended by an interrupt it is kUnavailable.
  Result<ChildEnd> wait(Interrupts& interrupts);
  // Ends it: SIGTERM, and SIGKILL to its session after `patience`.
  Result<ChildEnd> stop(Interrupts& interrupts, Nanos patience);

 private:
  explicit Child(pid_t pid) : pid_(pid) {}
  void sample_peak();
  ChildEnd reap();

  pid_t pid_ = 0;
  std::int64_t peak_ = 0;
};

// This process's environment without variables that name a store or server, for commands on
// another one.
std::vector<std::string> environment_elsewhere();

double to_seconds(const timeval& time);

// Returns the bytes that the process of this /proc directory, and its children that are over,
// handed to write calls; 0 when that is not known.
std::int64_t bytes_written_by(const std::filesystem::path& proc_directory);

}  // namespace corral::cli
