// Profiling: the supervisor's part of `corral run --profile`, from before the command's start to
// the artifacts after its end.
//
// Main thread only. Nothing here delays the command, and a failure after the start is only a
// warning.
#pragma once

#include <functional>
#include <optional>

#include "core/time.h"
#include "run/command.h"
#include "run/notices.h"
#include "run/options.h"
#include "run/profiler.h"
#include "run/record/profile_summary.h"
#include "spool/journal.h"
#include "spool/run_directory.h"

namespace corral::run {

class Profiling {
 public:
  // Call before anything is started; the error names the missing program or permission.
  static Result<Profiling> prepare(const Options& options);

  // Call when the run has a directory. Puts the profiler in front of the command, and lets steps be
  // profiled on demand if they are seen.
  void join(const spool::RunDirectory& directory, Command& command);
  // CORRAL_PROFILE_STEPS of the command; empty: none.
  [[nodiscard]] std::string steps() const;
  // Call when the command runs, as process `child`. A profiler of the whole run becomes a phase.
  void begin(spool::Journal& journal, pid_t child);
  // The command has ended. Keeps the profiler's report as an artifact, with a summary of it where
  // its tool makes one. `give_up` waits a moment, and returns true when the user does not want to
  // wait any longer.
  void end(spool::Journal& journal, BootTime ended, Notices& notices,
           const std::function<bool()>& give_up);

 private:
  explicit Profiling(const Options& options) : options_(options) {}
  void close_phase(spool::Journal& journal, BootTime ended);
  [[nodiscard]] std::optional<std::string> missing() const;
  [[nodiscard]] Result<ProfileWindow> window() const;
  [[nodiscard]] spool::fs::path report() const;
  void tidy() const;
  [[nodiscard]] std::string read_text(const std::string& file) const;
  // Keeps a file of the folder as an artifact with that name.
  Result<> keep(const std::string& file, const std::string& name) const;
  [[nodiscard]] Result<std::vector<DeviceTime>> read_report(
      const std::string& report, const std::function<bool()>& give_up) const;
  [[nodiscard]] Result<std::vector<DeviceTime>> read_nsys(
      const std::string& report, const std::function<bool()>& give_up) const;

  const Options& options_;
  spool::fs::path program_;  // path of the profiler; empty: none
  // Files of the run; nullopt: the run is not recorded.
  std::optional<sys::PrivateDirectory> run_files_;
  std::optional<sys::PrivateDirectory> folder_;  // its folder "profile"
  RunId run_;
  std::string host_;
  ClockAnchor anchor_;
  BootTime began_;
  BootTime ended_;
  bool phase_open_ = false;
};

}  // namespace corral::run
