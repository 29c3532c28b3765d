// Stage: runs the training once, with or without a setting, and measures the cost of both.
//
// It has a directory below $TMPDIR, removed at the end, with a store and a server of its own, so
// that the server's CPU time is known. Before and after a run it waits until the server is idle.
// One thread.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "cli/bench_child.h"
#include "cli/bench_measure.h"
#include "cli/bench_settings.h"
#include "core/result.h"
#include "core/time.h"

namespace corral::cli {

// One run of the training. The `collecting_…` values are the cost of the setting, 0 without it.
struct OneRun {
  UtcTime began;
  Measurement training;
  double whole_s = 0;  // with the start and the end of the setting's tool
  double collecting_cpu_s = 0;
  std::int64_t collecting_peak_bytes = 0;
  std::int64_t collecting_written_bytes = 0;
};

class Stage {
 public:
  static Result<Stage> open();
  Stage(Stage&&) = default;
  Stage& operator=(Stage&&) = delete;
  ~Stage();

  [[nodiscard]] const std::filesystem::path& directory() const { return directory_; }
  // For everything that is started: this process's, without variables that name a store or server.
  [[nodiscard]] const std::vector<std::string>& environment() const { return environment_; }

  // Before the first run of a setting of kind kCorral.
  Result<> serve(Interrupts& interrupts);
  // kUnavailable: interrupted.
  Result<OneRun> run(const Setting& setting, bool on, const std::vector<std::string>& training,
                     Interrupts& interrupts);

 private:
  explicit Stage(std::filesystem::path directory);
  struct Job {
    const Setting& setting;
    std::vector<std::string> argv;  // the training, measured
    Interrupts& interrupts;
  };
  Result<OneRun> alone(const Job& job, int processor);
  Result<OneRun> within(const Job& job, std::vector<std::string> argv);
  Result<OneRun> beside(const Job& job);
  Result<ChildEnd> finish(Child& child, Interrupts& interrupts, OneRun& run);
  Result<Child> start(std::vector<std::string> argv, int processor = -1);
  Result<Child> start_tool(const Setting& setting, int processor, Interrupts& interrupts);
  [[nodiscard]] std::vector<std::string> corral_run(const Setting& setting) const;
  // Waits until the server is idle, 5 s at most; its CPU seconds and written bytes by then.
  ChildEnd settle(Interrupts& interrupts);

  [[nodiscard]] std::filesystem::path file(const char* name) const { return directory_ / name; }

  std::filesystem::path directory_;
  std::vector<std::string> environment_;
  std::optional<Child> server_;
};

}  // namespace corral::cli
