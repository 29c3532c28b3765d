// The processes of `corral bench listeners`: starting and measuring one, and the verbs that it
// starts as processes of their own.
//
// `corral bench measure FILE COMMAND` runs between the training and the process that starts it (the
// benchmark, or `corral run`). It does so in both runs of a pair, so that both are timed alike:
// from the start of the command to its end, without the tool around it. It writes FILE.
// $CORRAL_BENCH_STEPS names the file to which the command may write the time of each of its steps,
// in seconds, one a line.
//
// The wait for a process receives SIGINT, SIGTERM and SIGHUP, which Interrupts blocks. The first of
// them ends the process (SIGTERM, after 8 s SIGKILL to its whole session) and is remembered. One
// thread.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/result.h"
#include "core/time.h"
#include "sys/process.h"

namespace corral::cli {

// Blocks the signals for as long as it lives; there is one.
class Interrupts {
 public:
  Interrupts();
  ~Interrupts();
  Interrupts(const Interrupts&) = delete;
  Interrupts& operator=(const Interrupts&) = delete;
  // Waits for one of the signals, a child's end or the time; true once the benchmark is to end.
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
  bool ended();
  void sample_peak();
  ChildEnd reap();

  pid_t pid_ = 0;
  std::int64_t peak_ = 0;
};

struct Measurement {
  double wall_s = 0;
  double cpu_s = 0;             // used by the command and the children that it waited for
  double own_cpu_s = 0;         // used by `corral bench measure` itself
  std::int64_t peak_bytes = 0;  // resident, the largest of its processes
  std::int64_t written_bytes = 0;
  std::vector<double> steps_s = {};  // empty: not known
};

// Reads the measurement of a command that has ended.
Result<Measurement> read_measurement(const std::filesystem::path& file);

// The p-quantile by the nearest rank; nothing of no values.
std::optional<double> quantile(std::vector<double> values, double p);

// `corral bench measure FILE COMMAND` runs the command, writes a Measurement to FILE and returns
// the command's exit status.
int bench_measure(std::span<char* const> args);

// `corral bench loop STEPS`, a stand-in for a training: so many steps of the same work, about a
// millisecond each, in one thread; their times go to the file $CORRAL_BENCH_STEPS.
int bench_loop(std::span<char* const> args);

// `corral bench burn SHARE`: burns that share of one processor until a signal ends it. The
// benchmark must detect it.
int bench_burn(std::span<char* const> args);

}  // namespace corral::cli
