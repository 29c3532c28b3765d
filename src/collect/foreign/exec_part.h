// ExecPart: a command that prints metrics, kept running.
//
// It runs in a process group of its own, but in the supervisor's session, as all that is not the
// run's (collect/tree counts by that). It is started again with growing pauses (1 s ... 60 s) when
// it ends, and ended when it hangs. Output beyond the allowed rate is read and dropped; it never
// fills memory. It ends with the run: SIGTERM to its process group, SIGKILL after 2 s; and with the
// supervisor, should that be killed.
#pragma once

#include <sys/types.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "collect/foreign/config.h"
#include "collect/foreign/emitter.h"
#include "collect/foreign/exec_lines.h"
#include "collect/foreign/part.h"
#include "collect/foreign/text.h"
#include "sys/fd.h"

namespace corral::collect::foreign {

struct ExecContext {
  std::string directory;
  std::vector<std::string> environment;  // "K=V"
};

class ExecPart : public Part {
 public:
  ExecPart(ExecSource source, ExecContext context, PointQueue& queue, ProblemBox& problems);
  ~ExecPart() override;
  ExecPart(const ExecPart&) = delete;
  ExecPart& operator=(const ExecPart&) = delete;

  void wait_for(std::vector<pollfd>& descriptors) const override;
  void serve(BootTime now) override;
  [[nodiscard]] BootTime due() const override;
  void stop(BootTime now, BootTime deadline) override;
  [[nodiscard]] bool done() const override { return stopping_ && !process_; }

 private:
  struct Process {
    Process(pid_t its_pid, BootTime now, const ExecSource& source);
    pid_t pid;
    BootTime started;
    BootTime last_line;
    sys::Fd out;
    sys::Fd err;
    LineSplitter out_lines;
    LineSplitter err_lines;
    ExecLines reader;
    std::string last_error;  // the last line of its standard error
    std::string ending;      // why it is being ended; empty: it is not
    bool printed = false;
    BootTime terminate_at = kNever;
    BootTime kill_at = kNever;
    BootTime read_at{};    // it prints too fast: not before
    BootTime errors_at{};  // its standard error is not read before
    BootTime look_at{};    // time of the next check for its end
  };

  void start(BootTime now);
  Result<> spawn(BootTime now);
  [[nodiscard]] Result<std::vector<std::string>> command_line() const;
  void read_output(BootTime now);
  void read_errors(BootTime now);
  void take_line(std::string_view line, bool cut, BootTime now);
  void check_hung(BootTime now);
  void end_process(BootTime now, std::string why);
  void signal_due(BootTime now);
  void reap(BootTime now);
  void ended(int status, BootTime now);
  void retry(BootTime now, const std::string& why);
  [[nodiscard]] BootTime hangs_at() const;

  ExecSource source_;
  ExecContext context_;
  Emitter emitter_;
  std::optional<Process> process_;
  BootTime next_start_{};
  Nanos pause_;
  bool stopping_ = false;
};

}  // namespace corral::collect::foreign
