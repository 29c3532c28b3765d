// Launcher: starts the supervisors of a workload's runs, lets them go together, tells what becomes
// of them.
//
// A supervisor is `corral run` of one run in a session of its own. It prepares everything, says
// that it is ready and waits behind the workload's gate; it survives this process once the gate was
// opened, and gives up without having started anything when this process ends before. The interface
// stands here so that a fake with a clock of its own can take the place of processes.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/result.h"
#include "core/time.h"
#include "run/progress.h"
#include "run/schedule/book.h"
#include "run/supervisor_order.h"
#include "sys/process.h"

namespace corral::run::schedule {

struct Order {
  SupervisorOrder document;              // the launcher adds the gate
  std::vector<std::string> environment;  // "NAME=value" on top of this process's
  std::filesystem::path directory;       // working directory of the supervisor
  bool gated = true;                     // adoption is not: there is nothing to hold back
};

enum class News {
  kReady,     // waits behind the gate
  kStarted,   // the command was executed, at `started`
  kProgress,  // how far it is: `progress`
  kEnded,     // the command's end is known: `end`
  kGone,      // the supervisor has left; `words` are its last, of one that was not ready
  kSignal,    // this process was told to stop: `signal`
};

struct Event {
  News news = News::kGone;
  std::string run;
  BootTime started;
  std::optional<BootTime> ended{};  // kEnded: the command's end, where it began
  std::optional<int> exit_status;   // kGone, of a supervisor that was started here
  End end;
  Progress progress{};
  std::string words;
  int signal = 0;
};

class Launcher {
 public:
  virtual ~Launcher() = default;
  virtual Result<> launch(const Order& order) = 0;
  // Opens the gate of all that were launched since the last time.
  virtual void release() = 0;
  // Those behind the gate give up; their kGone follows.
  virtual void abandon() = 0;
  // Tells of a supervisor that another scheduler started: of its kGone alone.
  virtual Result<> follow(const std::string& run, const sys::ProcessIdentity& supervisor) = 0;
  // SIGINT or SIGTERM: the run is interrupted; again: it hurries.
  virtual void signal(const std::string& run, int signal) = 0;
  // Ends the run because its workload has ended: the outcome is `stopped`.
  virtual void stop(const std::string& run, const std::string& reason) = 0;
  // Facts that are known only now; stored with the run.
  virtual void tell(const std::string& run, const plan::Pairs& tags) = 0;
  // Sleeps until something happens or the deadline has passed.
  virtual std::vector<Event> wait(std::optional<BootTime> deadline) = 0;
  virtual BootTime now() = 0;
};

}  // namespace corral::run::schedule
