// SupervisorLauncher: Launcher with real processes. Asleep in poll(2) between events.
#pragma once

#include <memory>
#include <string>

#include "run/schedule/launcher.h"

namespace corral::run::schedule {

struct SupervisorOptions {
  std::filesystem::path program;  // this binary
  // The folder in which a supervisor leaves its last word, "<run>.json", for a later scheduler.
  std::filesystem::path last_words;
};

// Blocks SIGINT, SIGTERM, SIGQUIT and SIGHUP in the calling thread for the rest of the process:
// they arrive as events. One object in a process.
std::unique_ptr<Launcher> supervisor_launcher(const SupervisorOptions& options);

// Returns the last word of a supervisor that is gone; nullopt: it left none.
std::optional<End> last_word_of(const std::filesystem::path& directory, const std::string& run);

// Parses {"phase": …, "step": …, …} of a supervisor; invalid values are skipped.
Progress progress_of_report(const Json& report);

// Parses {"outcome": …, "reason": …, "tail": […]} of a supervisor.
End end_of_report(const Json& report);

}  // namespace corral::run::schedule
