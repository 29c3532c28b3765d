// ForeignSources: everything that a run records beside Corral's own listeners.
//
// Flow: commands, endpoints, output lines and datagrams -> parsers -> PointQueue, which the caller
// drains into the journal. One thread, "corral-sources", polls commands and sockets; a second,
// "corral-scrape", is there only when endpoints are (HTTP blocks). feed_output() is the caller's
// thread. Nothing here can delay or end the run: each failure is a problem, reported once.
#pragma once

#include <sys/types.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "collect/foreign/config.h"
#include "collect/foreign/points.h"
#include "collect/foreign/problems.h"
#include "core/result.h"
#include "core/time.h"
#include "metric/health.h"

namespace corral::collect::foreign {

struct ForeignContext {
  std::string directory;                 // working directory of commands; empty: this one
  std::vector<std::string> environment;  // "K=V", of commands
  PointQueue* queue = nullptr;           // outlives the sources
};

class ForeignSources {
 public:
  // Compiles patterns and binds sockets, so that their addresses are known before the run's command
  // is started; starts no command and no thread. An error is one of the
  // configuration (check); a socket that is taken is a problem.
  static Result<std::unique_ptr<ForeignSources>> open(const Sources& sources,
                                                      ForeignContext context);
  ~ForeignSources();  // stops
  ForeignSources(const ForeignSources&) = delete;
  ForeignSources& operator=(const ForeignSources&) = delete;

  // Address for statsd clients ("127.0.0.1:8125", "unix:/..."); nothing without one.
  [[nodiscard]] std::optional<std::string> statsd_address() const;

  // Commands get `run_pid` as CORRAL_RUN_PID; 0: there is no run.
  Result<> start(pid_t run_pid = 0);
  // Ends the commands (SIGTERM to their process groups, SIGKILL after 2 s or at the deadline) and
  // takes their last output. Harmless when not started or again.
  void stop(BootTime deadline);

  // Output of the run, in order per stream; any pieces. kBoth: of a terminal. One thread, also
  // before start().
  void feed_output(Stream stream, std::string_view bytes, BootTime time);
  // A last line that no newline ended.
  void end_output(BootTime time);

  // New since the last call. The same trouble of one source is reported once until it recovers.
  std::vector<Problem> problems();
  // Returns the changes of the sources' health since the last call.
  std::vector<metric::Health> health();

 private:
  struct Parts;
  explicit ForeignSources(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace corral::collect::foreign
