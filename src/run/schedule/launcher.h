// Launcher: starts the supervisors of a workload's runs, releases them together, and reports their
// events.
//
// A supervisor is `corral run` of one run in a session of its own. It prepares everything, reports
// that it is ready and waits behind the workload's gate. It survives this process once the gate was
// opened; if this process ends before, it gives up without having started anything. The interface
// allows a fake with a clock of its own instead of processes.
#pragma once

#include <filesystem>
#include <memory>
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
  bool gated = true;                     // false for an adoption: its command runs already
};

enum class EventKind {
  kReady,     // waits behind the gate
  kStarted,   // the command was executed, at `started`
  kProgress,  // the state of the run: `progress`
  kEnded,     // the command's end is known: `end`
  kGone,      // the supervisor has ended; `words` are its last output if it was not ready
  kSignal,    // this process got a signal to stop: `signal`
};

struct Event {
  EventKind kind = EventKind::kGone;
  std::string run;
  BootTime started;
  std::optional<BootTime> ended{};  // kEnded: the command's end, if it began
  std::optional<int> exit_status;   // kGone, if the supervisor was started here
  End end;
  Progress progress{};
  std::string words;
  int signal = 0;
};

class Launcher {
 public:
  virtual ~Launcher() = default;
  virtual Result<> launch(const Order& order) = 0;
  // Opens the gate of all supervisors that were launched since the last call.
  virtual void release() = 0;
  // Makes the supervisors behind the gate give up; their kGone follows.
  virtual void abandon() = 0;
  // Follows a supervisor that another scheduler started: only its kGone is reported.
  virtual Result<> follow(const std::string& run, const sys::ProcessIdentity& supervisor) = 0;
  // Sends SIGINT or SIGTERM: the run is interrupted; a second signal ends it faster.
  virtual void signal(const std::string& run, int signal) = 0;
  // Ends the run because its workload has ended: the outcome is `stopped`.
  virtual void stop(const std::string& run, const std::string& reason) = 0;
  // Sends tags that are known only now; they are stored with the run.
  virtual void send_tags(const std::string& run, const plan::Pairs& tags) = 0;
  // Sleeps until something happens or the deadline has passed.
  virtual std::vector<Event> wait(std::optional<BootTime> deadline) = 0;
  virtual BootTime now() = 0;
};

// SupervisorLauncher: Launcher with real processes. Asleep in poll(2) between events.
struct SupervisorOptions {
  std::filesystem::path program;  // this binary
  // The folder in which a supervisor leaves its last word, "<run>.json", for a later scheduler.
  std::filesystem::path last_words;
};

// Blocks SIGINT, SIGTERM, SIGQUIT and SIGHUP in the calling thread for the rest of the process:
// they arrive as events. One object in a process.
std::unique_ptr<Launcher> supervisor_launcher(const SupervisorOptions& options);

// Returns the last word of a supervisor that is gone; nullopt: it left none.
std::optional<End> read_last_word(const std::filesystem::path& directory, const std::string& run);

// Parses {"phase": …, "step": …, …} of a supervisor; invalid values are skipped.
Progress parse_progress(const Json& report);

}  // namespace corral::run::schedule
