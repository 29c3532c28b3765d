// Book: the known state of a plan's runs, and the Status of each row.
//
// The plan's journal holds the truth and is read into this; Status and Run in the file are its
// projection. A Status that no scheduler wrote is the user's and counts for more: FINISHED and
// FAILED have radT's meaning, and a cleared Status makes the row open again. Pure; no thread.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/json.h"
#include "plan/plan.h"
#include "run/progress.h"

namespace corral::run::schedule {

// The end of one run of a plan; `outcome` is one of the closed set (run/outcome.h).
struct End {
  std::string outcome{};
  std::string reason{};             // one line; empty if the outcome needs none
  std::vector<std::string> tail{};  // last lines of output, if the run failed
  bool operator==(const End&) const = default;
};

// Parses {"outcome": …, "reason": …, "tail": […]} of a supervisor or of the journal.
End parse_end(const Json& report);

// The meaning of an end for the plan. A run that was stopped by the workload's rule or ended by a
// limit is finished, as planned; an interrupted, preempted or cancelled run counts as not run.
enum class Standing { kOpen, kFinished, kFailed };
Standing standing_after(std::string_view outcome);

// One start of one run of the plan.
struct Attempt {
  std::string key;  // key of the row
  int repetition = 1;
  std::string run;   // its id
  std::string name;  // name of the run
  bool started = false;
  std::optional<End> end{};
};

class Book {
 public:
  // Applies a line of the journal (plan_journal.h). Unknown lines change nothing.
  void apply(const Json& line);
  // Lines that are applied from now on happen now; earlier ones were read from the journal.
  void go_live() { live_ = true; }

  // Returns the newest attempt; nullptr: none.
  [[nodiscard]] const Attempt* latest(const std::string& key, int repetition) const;
  [[nodiscard]] const Attempt* find(const std::string& run) const;
  // Returns the attempts that have begun and are not known to have ended, oldest first.
  [[nodiscard]] std::vector<const Attempt*> open() const;

  // Returns the standing of one repetition of a row as the file has it. An attempt that is under
  // way is open.
  [[nodiscard]] Standing standing(const plan::Row& row, int repetition) const;
  // True if the user cleared or changed the row's Status after it had been written: the known
  // attempts no longer count. If a row that was written since go_live() has both its former cells,
  // an editor that had the file open saved them; that is no change by the user.
  [[nodiscard]] bool overruled(const plan::Row& row) const;

  struct Cells {
    std::string status;
    std::string run;
    bool operator==(const Cells&) const = default;
  };
  // True if the row's Status names a run under way that this plan's journal does not know: a
  // scheduler on another host, or one whose journal is lost, has written it.
  [[nodiscard]] bool runs_elsewhere(const plan::Row& row) const;

  // Returns the texts of the row's cells; nullopt: they stay as they are.
  [[nodiscard]] std::optional<Cells> cells(const plan::Row& row, int repetitions) const;

 private:
  struct Projection {
    std::string status;    // the last text that was to be written
    bool written = false;  // the text is surely in the file
    bool recent = false;   // written since go_live()
  };
  void begin(const Json& line);
  void note_end(const Json& line);
  Attempt* find_attempt(const std::string& run);
  // Attempts by row, in the order in which they began.
  std::map<std::string, std::vector<Attempt>> rows_;
  std::map<std::string, std::string> row_of_run_;
  std::map<std::string, Projection> projections_;
  bool live_ = false;
};

// Member: one run of the current workload, with its visible state.
struct Member {
  enum class Stage {
    kPreparing,  // its supervisor prepares
    kReady,      // waits behind the gate
    kRunning,
    kEnding,  // the end is known, its supervisor still uploads data
    kGone,
  };
  plan::Row row;
  int repetition = 1;
  std::string run;
  std::string name;
  Stage stage = Stage::kPreparing;
  bool may_adopt = true;      // a supervisor that is killed is replaced
  std::string stop_reason{};  // reason of a requested stop; empty: none was requested
  bool interrupted = false;   // by the user
  std::optional<BootTime> started{};
  std::optional<BootTime> ended{};
  std::optional<End> end{};
  Progress progress{};  // reported by its supervisor, while it runs

  [[nodiscard]] bool over() const { return end.has_value(); }
  // Returns "preparing", "running" or an outcome.
  [[nodiscard]] std::string state() const {
    if (end) return end->outcome;
    return stage == Stage::kRunning ? "running" : "preparing";
  }
};

}  // namespace corral::run::schedule
