// Book: what is known of a plan's runs, and what a row's Status says of them.
//
// The plan's journal holds the truth and is read into this; Status and Run in the file are its
// projection. A Status that nobody here wrote is a person's word and counts for more: FINISHED and
// FAILED as radT reads them, and one that was cleared makes the row open again. Pure; no thread.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/json.h"
#include "plan/plan.h"

namespace corral::run::schedule {

// How one run of a plan ended; `outcome` is one of the closed set (run/outcome.h).
struct End {
  std::string outcome{};
  std::string reason{};             // one line; empty where the outcome says it all
  std::vector<std::string> tail{};  // last lines of output, of a run that failed
  bool operator==(const End&) const = default;
};

// What an end means for the plan. Stopped by the workload's rule and ended by a limit is finished,
// as planned; an interrupted run is as good as not run.
enum class Standing { kOpen, kFinished, kFailed };
Standing standing_of(std::string_view outcome);

// One start of one run of the plan.
struct Attempt {
  std::string key;  // of the row
  int repetition = 1;
  std::string run;   // its id
  std::string name;  // of the run
  bool started = false;
  std::optional<End> end;
};

class Book {
 public:
  // A line of the journal (journal.h). What cannot be understood changes nothing.
  void apply(const Json& line);
  // What is applied from now on happens now; before, it was read from the journal.
  void go_live() { live_ = true; }

  // The newest attempt; nullptr: none.
  [[nodiscard]] const Attempt* latest(const std::string& key, int repetition) const;
  [[nodiscard]] const Attempt* find(const std::string& run) const;
  // Begun and not known to have ended, oldest first.
  [[nodiscard]] std::vector<const Attempt*> open() const;

  // Of one repetition of a row as the file has it. An attempt that is under way is open.
  [[nodiscard]] Standing standing(const plan::Row& row, int repetition) const;
  // The row's Status was cleared or changed by a person after it had been written: what is known
  // of it no longer counts. Both cells as they were before, of a row that was
  // written since go_live(), are no word of a person: an editor that had the file open saved it.
  [[nodiscard]] bool overruled(const plan::Row& row) const;

  struct Cells {
    std::string status;
    std::string run;
    bool operator==(const Cells&) const = default;
  };
  // Its Status says that a run is under way which this plan's journal does not know: a scheduler on
  // another host, or one whose journal is lost, has written it.
  [[nodiscard]] bool runs_elsewhere(const plan::Row& row) const;

  // What the row's cells are to say; nothing: they are left as they are.
  [[nodiscard]] std::optional<Cells> cells(const plan::Row& row, int repetitions) const;

 private:
  struct Projection {
    std::string status;    // what was to be written last
    bool written = false;  // and surely was
    bool recent = false;   // since go_live()
  };
  void begin(const Json& line);
  void note_end(const Json& line);
  Attempt* attempt_of(const std::string& run);
  // By row: attempts in the order in which they began.
  std::map<std::string, std::vector<Attempt>> rows_;
  std::map<std::string, std::string> row_of_run_;
  std::map<std::string, Projection> projections_;
  bool live_ = false;
};

}  // namespace corral::run::schedule
