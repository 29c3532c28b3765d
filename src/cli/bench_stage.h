// Stage: runs the training of `corral bench listeners` once, with or without a setting (the
// listeners and tools of the run with recording), and measures the cost of both.
//
// The training is the user's command, else a small one of its own with the best of PyTorch, NumPy
// and neither that is there. A stage has a directory below $TMPDIR, removed at the end, with a
// store and a server of its own, so that the server's CPU time is known. Before and after a run it
// waits until the server is idle. One thread.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/bench_process.h"
#include "cli/child.h"
#include "core/result.h"
#include "core/time.h"

namespace corral::cli {

struct Training {
  std::string about;                 // one line, for the report
  std::vector<std::string> command;  // the same in each run
  double expected_s = 0;             // measured length of one run
};

struct TrainingOptions {
  std::vector<std::string> command;  // the user's; empty: one of ours
  std::string kind = "auto";         // our training's kind: auto, torch, numpy, loop
  Nanos length{};                    // target length of a run of our training
  std::vector<std::string> environment;
  std::filesystem::path directory;  // for its files
};

// Fails with the reason unless that Python can import all the modules (comma-separated).
Result<> can_import(const std::string& python, const std::string& modules);

// Chooses the training and runs it once, which warms the machine's caches and measures its length;
// our own training is then scaled to the requested length. kInvalidArgument if the command cannot
// be run.
Result<Training> prepare_training(const TrainingOptions& options, Interrupts& interrupts);

// Returns the command with the words before it that measure it.
std::vector<std::string> measured(const std::filesystem::path& file,
                                  const std::vector<std::string>& command);

// The error has the status, and the last line that the command wrote to `errors`.
Error failed_training(int wait_status, const std::filesystem::path& errors);

struct Setting {
  enum class Kind {
    kOff,      // nothing: shows the machine's own variation between two runs
    kCorral,   // `corral run` with `words`
    kBeside,   // the tool `words` runs beside the training
    kAround,   // `words` start the training
    kPlanted,  // a burner that takes `planted` of the training's processor
  };
  Kind kind = Kind::kOff;
  std::string name;
  std::string about;  // its task and its rate
  std::vector<std::string> words = {};
  double planted = 0;
  std::string missing = {};  // why it cannot be measured here; empty: it can

  // True if the verdict is about another tool, not about Corral.
  [[nodiscard]] bool is_peer() const { return kind == Kind::kBeside || kind == Kind::kAround; }
};

// `words`: joined by commas, each `default`, `none`, `capture`, `off`, `each`, or listeners joined
// by
// +. kInvalidArgument as of collect::select_listeners.
Result<std::vector<Setting>> parse_settings(std::string_view words);

// `words`: joined by commas, each a peer's name; `all`; `none`. Those that are not there have a
// reason in `missing`. Python's are looked for in `python`.
Result<std::vector<Setting>> parse_peers(std::string_view words, const std::string& python);
std::vector<std::string> peer_names();

Setting planted_burner(double share);

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
