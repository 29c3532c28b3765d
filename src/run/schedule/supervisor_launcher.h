// SupervisorLauncher: Launcher with real processes. Asleep in poll(2) between events.
#pragma once

#include <memory>
#include <string>

#include "run/schedule/launcher.h"

namespace corral::run::schedule {

struct SupervisorOptions {
  std::filesystem::path program;  // this binary
  // Where a supervisor leaves its last word, "<run>.json": for a scheduler that comes later.
  std::filesystem::path last_words;
};

// Blocks SIGINT, SIGTERM, SIGQUIT and SIGHUP in the calling thread for the rest of the process:
// they arrive as events. One object in a process.
std::unique_ptr<Launcher> supervisor_launcher(const SupervisorOptions& options);

// What a supervisor that is gone has left; nothing: it left none.
std::optional<End> last_word_of(const std::filesystem::path& directory, const std::string& run);

// {"phase": …, "step": …, …}, likewise; what cannot be read is left out.
Progress progress_of_report(const Json& report);

// {"outcome": …, "reason": …, "tail": […]}, as a supervisor says it.
End end_of_report(const Json& report);

}  // namespace corral::run::schedule
