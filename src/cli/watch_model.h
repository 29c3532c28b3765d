// The state of runs as `corral watch` shows it, made from answers of the server. Pure.
//
// A value that nobody measured is empty. Times that are left follow from a recorded total alone: a
// parameter or an argument of the command such as `epochs`.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/json.h"
#include "core/time.h"

namespace corral::cli {

// Steps or epochs that a run is to do, and where that was recorded: "param epochs", "--epochs".
struct WatchTotal {
  std::int64_t count = 0;
  bool epochs = false;
  std::string from;
};

// Series of a run that its figures come from, by their ids.
struct WatchSeries {
  std::optional<std::int64_t> steps{};  // one whose points have steps: the loss, else another
  std::vector<std::int64_t> cpus{};     // one, or that of each rank
  std::vector<std::int64_t> gpus{};
  std::optional<double> step_s{};  // mean over all its steps
  std::int64_t last_ns = 0;        // time of the newest step
  std::int64_t nan = 0;            // values of the loss that are not a number
};

struct WatchRun {
  std::string id{};  // empty: it has not started
  std::string name{};
  std::string state{};   // "waiting", "preparing", "running", or how it ended
  std::string reason{};  // why it failed, or will not run
  std::size_t queue =
      0;  // place of its workload among those that wait, from 1; 0: it does not wait
  std::vector<std::string> devices{};  // "0": those that its plan gave it
  std::optional<WatchTotal> total{};
  std::int64_t newest_ns = 0;  // newest time that the server knows of it
  std::optional<double> elapsed_s{}, loss{};
  std::optional<std::int64_t> step{};
  std::string loss_name{};
  // While it runs.
  std::optional<double> step_s{}, left_s{}, cores{}, gpu{};
  std::optional<double> silent_s{};           // no step came for so long, far longer than one takes
  std::int64_t nan = 0;                       // as of WatchSeries
  std::optional<std::int64_t> epoch{};        // number of the newest one, from 1
  std::vector<std::optional<double>> line{};  // its loss over its time

  [[nodiscard]] bool runs() const { return state == "running"; }
  [[nodiscard]] bool failed() const;
};

// Sets what an answer says of a run: one of a list, of a search, or whole. The name and
// reason of a plan's row stay, and a state other than running.
void take_run(WatchRun& run, const Json& answer);
// Columns of a search, in which take_run() finds totals and reasons.
Json::Array search_columns();
// The rows of a plan's document, in its order.
std::vector<WatchRun> plan_rows(const Json& plan);
// Estimates the seconds until a plan ends, from its newest runs that have started: its workloads
// that have not ended take as long as those that have. Empty: none has ended, or those that run
// take longer.
std::optional<double> plan_left_s(std::size_t open_workloads, const Json::Array& newest);
// Workloads of a plan that have not ended.
std::size_t open_workloads(const Json& plan);

// Empty: it is no number, or not a finite one.
std::optional<double> number_of(const Json& value);
// Time that is left: "3:20", or "2 d 3 h" from a day on.
std::string remaining_text(double seconds);

WatchSeries find_series(const Json::Array& metrics, const WatchRun& run);
// Sets the time of a step and the use of CPUs and GPUs from an answer of POST /windows; what it
// does not say is not known any more. Remembers the newest step in `series`.
void take_windows(WatchRun& run, WatchSeries& series, const Json::Array& windows);
// Sets the epoch from an element of POST /epochs, and the time that is left from the total.
void take_epochs(WatchRun& run, const Json& epochs);
// The same from its steps. Call it when step and time of a step are known.
void take_steps_left(WatchRun& run);

// A metric of a run with its newest value.
struct WatchMetric {
  std::string name, value;
  std::vector<std::optional<double>> line{};
  bool bad = false;  // some of its values are not a number
};
// The metrics that the run itself logged, the loss first.
std::vector<WatchMetric> own_metrics(const Json::Array& metrics, const WatchRun& run);

// The use of something, in one figure or several: a share of what there is, if that is known.
struct WatchUse {
  struct Figure {
    std::optional<double> share{};
    std::string text;  // "1.2 GiB of 16 GiB", or why it is not known
  };
  std::string name;
  std::vector<Figure> figures{};
};
// CPUs and memory of a run and the GPUs of its host, from GET /runs/{run} and its metrics.
std::vector<WatchUse> uses_of(const WatchRun& run, const Json& answer, const Json::Array& metrics);

// The last lines of output chunks as a person reads them: of a progress bar its newest state,
// without colours.
std::vector<std::string> last_lines(const Json::Array& chunks, std::size_t most);

// "epoch 4 of 20", "step 1200", …: the known figures; without `all`, not those that a picture of
// one run shows by themselves: loss, CPUs and GPUs.
std::vector<std::string> run_words(const WatchRun& run, bool all);

struct WatchDetail {
  WatchRun run{};
  std::string place{};   // experiment and workload
  std::string ending{};  // in words
  std::vector<WatchMetric> metrics{};
  std::vector<WatchUse> uses{};
  std::string summary{};  // its parts by time, and what bounded it
  std::vector<std::string> findings{};
  std::vector<std::string> output{};
};

struct WatchList {
  std::string title{};
  std::string message{};  // "3 of 12 runs ended, 1 failed"
  std::vector<WatchRun> rows{};
  std::optional<double> left_s{};
  bool over = false;
};
// The first row that runs, else the first of all.
std::size_t first_running(const WatchList& list);
// Counts the rows: "3 of 12 runs ended, 1 failed".
std::string count_words(std::span<const WatchRun> rows);

struct WatchState {
  std::optional<WatchList> list{};
  std::optional<WatchDetail> detail{};
  std::string trouble{};  // why the newest state is not known
  bool gone = false;      // it was removed
  BootTime answered{};    // when the server was asked for it
  // It changes no more.
  [[nodiscard]] bool over() const;
};

}  // namespace corral::cli
