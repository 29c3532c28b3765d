// The scheduler's messages on standard error, and a plan's progress as lines of text.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/mutex.h"
#include "core/time.h"
#include "run/schedule/book.h"
#include "run/schedule/plan_report.h"

namespace corral::run::schedule {

// Console: a terminal shows permanent lines and, below them, lines that are redrawn; other outputs
// get only permanent lines. Thread-safe.
class Console {
 public:
  explicit Console(bool quiet);
  ~Console();  // removes the drawn lines
  Console(const Console&) = delete;
  Console& operator=(const Console&) = delete;

  void say(const std::string& line);   // not with --quiet
  void warn(const std::string& line);  // always
  // True if draw() shows anything; width() is the greatest length of its lines.
  [[nodiscard]] bool live() const { return live_; }
  [[nodiscard]] static std::size_t width();
  void draw(std::vector<std::string> lines);

 private:
  void put(const std::string& line) EXCLUDES(mutex_);
  void erase() REQUIRES(mutex_);
  void paint() REQUIRES(mutex_);
  Mutex mutex_;
  bool quiet_;
  bool live_;
  std::vector<std::string> drawn_ GUARDED_BY(mutex_);
};

// ---- A plan as a few lines of text for a terminal. Pure.

// The progress of one run; unknown values are empty.
struct ProgressRun {
  std::string name;
  std::string state;
  std::string phase{};
  std::optional<std::int64_t> step{};
  std::optional<double> loss{};
  std::optional<double> gpu{};  // share of time that its GPUs were busy
  std::optional<double> cores{};
  std::optional<Nanos> elapsed{};
};
// `beside`: the runs of its workload, one of which samples the devices of all.
ProgressRun progress_run(const Member& member, std::span<const Member> beside, BootTime now);

struct ProgressView {
  PlanDocument::Counts counts;
  std::string now;                 // "7: running", "waiting: GPU 0 is 84 C"
  std::optional<Nanos> remaining;  // estimate for the plan
  std::vector<ProgressRun> runs;   // runs of the workload that is running
};
// One line for the plan and one for each run, none longer than `width` characters. Values stand in
// columns; if there is no room for all, the names are cut first, then the last columns.
std::vector<std::string> progress_lines(const ProgressView& view, std::size_t width);

// Returns the known values: "epoch 3, step 1200, loss 0.3142, GPU 97 %, 12:04".
std::string progress_words(const ProgressRun& run);

// Workloads that have ended, and their total time.
struct Pace {
  Nanos spent{0};
  std::size_t done = 0;
};
struct Remaining {
  Nanos all{0};    // with the present or next workload
  Nanos later{0};  // without it
};
// Estimates the time of `left` workloads of mean length, with `pause` between two of them; nullopt
// before one has ended.
std::optional<Remaining> estimate(const Pace& pace, std::size_t left, Nanos pause);
// Returns the remaining time when the first of them has run for `ran`.
Nanos remaining_after(const Remaining& remaining, Nanos ran);

}  // namespace corral::run::schedule
