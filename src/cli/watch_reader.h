// WatchReader: asks a server for the state that `corral watch` shows, with the page's own requests.
//
// It asks for rows in sight and for one run in detail, for each answer no more often than it
// changes, so that a watched training keeps its machine. One thread.
#pragma once

#include <atomic>
#include <map>
#include <string>
#include <vector>

#include "cli/destination.h"
#include "cli/run_group.h"
#include "cli/watch_model.h"
#include "core/time.h"

namespace corral::cli {

// One run, or a group of them: then `run` is empty.
struct WatchSubject {
  std::string run{};
  RunGroup group{};
};

// The part of the state that is in sight.
struct WatchSight {
  std::string run{};  // opened from a list; empty: none is
  std::size_t first_row = 0, rows = 0;
  std::size_t list_line = 8, detail_line = 40;  // characters for lines of values
  bool operator==(const WatchSight&) const = default;
};

class WatchReader {
 public:
  // `cancel` ends a request within a second when it turns true.
  WatchReader(const sys::HttpTarget& server, WatchSubject subject, const std::atomic<bool>& cancel);

  // Asks for what may have changed. If the server does not answer, the state stays and says so.
  const WatchState& refresh(const WatchSight& sight);

 private:
  // Values of a run that are asked for more rarely than its state.
  struct Known {
    WatchSeries series{};
    BootTime next_series{}, next_epochs{};
    Json epochs{};
    std::vector<std::optional<double>> line{};
  };
  // For the run that is shown in detail.
  struct Details {
    std::string run{};
    Json::Array metrics{};
    BootTime next_metrics{}, next_lines{}, next_output{}, next_explain{};
    bool ended = false, explained = false;  // both for good
  };

  Result<Json> ask(const std::string& path, const std::string& body = {});
  Result<> read_list(const WatchSight& sight);
  Result<> read_plan(WatchList& list);
  Result<> read_rows(std::span<WatchRun* const> rows);
  Result<> read_members(WatchList& list);
  Result<> read_pace(WatchList& list);
  Result<> read_figures(std::span<WatchRun* const> runs);
  Result<> read_windows(std::span<WatchRun* const> runs);
  Result<> read_epochs(std::span<WatchRun* const> runs);
  Result<> read_lines(std::span<WatchRun* const> runs, const WatchSight& sight);
  Result<> read_detail(const std::string& id, const WatchSight& sight);
  Result<> read_metrics(WatchDetail& detail);
  Result<> read_metric_lines(WatchDetail& detail, std::size_t characters);
  Result<> read_output(WatchDetail& detail);
  Result<> read_explanation(WatchDetail& detail, const Json& run);

  sys::HttpClient client_;
  WatchSubject subject_;
  const std::atomic<bool>& cancel_;
  WatchState state_;
  BootTime now_{};                      // begin of this refresh
  std::map<std::string, Known> known_;  // by run
  std::string plan_version_;
  Json plan_;
  BootTime next_members_{}, next_pace_{}, next_lines_{};
  WatchSight lines_of_;
  Details details_;
};

}  // namespace corral::cli
