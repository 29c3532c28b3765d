// Plan: an experiment file, read: the training runs it describes, in the order of the file.
//
// A row is one training run; rows of one experiment with the same workload start together. Formats
// (docs/plans.md): CSV with the header of radT's paper, of its talk or of radT 0.2.30, with
// Corral's own columns beside them, and YAML sweeps. Reading finds every problem at once; a plan
// with an error is never run.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/time.h"
#include "plan/share.h"

namespace corral::plan {

using Pairs = std::vector<std::pair<std::string, std::string>>;

// Cell of Listeners, as radT has it: nothing is sampled.
inline constexpr std::string_view kNoListeners = "none";

// When a run ends other than by itself, and its workload with it.
struct Limits {
  std::optional<Nanos> max_time;
  std::optional<std::int64_t> max_epochs;
  std::optional<std::int64_t> max_steps;
};

enum class WorkloadEnd {
  kAll,    // when all runs have ended (the default)
  kFirst,  // when the first has: the others are stopped
  kNamed,  // when those runs have that say so
};

struct Row {
  int line = 0;  // line in the file, the header is 1; 0: made by an expansion of no single line
  // Identity over edits and re-reads: a hash of the row's content (all but Status and Run) and, of
  // equal rows, its number. 16 lower-case hex digits.
  std::string key;
  std::string experiment;
  std::string workload;
  std::string name;    // name of the run; empty: made of workload, letter and script
  std::string letter;  // radT's: devices, "_A" where rows share one, "_3g.20gb"
  std::string status;  // as it stands in the file
  std::string run;     // run id as it stands in the file; empty: not started
  Share share;
  std::string collocation;           // as written, for tags and tables
  std::string environment;           // as written; parsed by environment/
  std::vector<std::string> command;  // "train.py", arguments …; what Model and Params give
  Pairs params;                      // recorded with the run: each --key value, model, data, …
  Pairs tags;
  Pairs env;              // variables of the run
  std::string listeners;  // as written, joined by "+"; empty: the default
  Limits limits;
  int repeat = 1;                       // number of times that the row's workload runs
  bool baseline = false;                // the others are compared with it
  WorkloadEnd end = WorkloadEnd::kAll;  // value of the cell; one row decides for its workload
  bool ends_workload = false;           // the workload ends with this run (WorkloadEnd::kNamed)
  bool loop = false;                    // starts again until the workload ends
  std::vector<std::string> after;       // workloads of the same experiment that must have finished
};

struct Workload {
  std::string experiment;
  std::string name;
  int repetition = 1;  // number among `repetitions`
  int repetitions = 1;
  WorkloadEnd end = WorkloadEnd::kAll;
  std::vector<Row> rows;
  std::vector<std::string> after;  // union over its rows

  // Name of the workload that its runs are recorded under: "7", of several repetitions "7#2".
  [[nodiscard]] std::string recorded_name() const {
    return repetitions == 1 ? name : name + "#" + std::to_string(repetition);
  }
};

enum class Severity { kError, kWarning };

struct Problem {
  Severity severity = Severity::kError;
  int line = 0;         // 1-based; 0: the file as a whole
  int column = 0;       // 1-based character of the line where the cell starts; 0: the whole line
  std::string field{};  // the column's name
  std::string value{};  // the cell
  std::string reason{};
  std::string advice{};  // nearest right spelling or what to do; may be empty
};
// "plan.csv:7:12: Collocation '3g.21gb': no such profile; did you mean 3g.20gb?"
std::string to_line(const Problem& problem, const std::string& file);
// The same, with "warning: " before a warning, for display.
std::string to_message(const Problem& problem, const std::string& file);

struct Plan {
  std::vector<Row> rows;          // in the order of the file; a sweep is expanded
  std::vector<Problem> problems;  // by line
  [[nodiscard]] bool usable() const {
    for (const Problem& p : problems)
      if (p.severity == Severity::kError) return false;
    return true;
  }
};

// Returns true if a row's environment is a container: its programs are not this machine's.
bool in_container(std::string_view environment);

// Rows -> workloads in order of first appearance, repetitions behind each other (all workloads
// once, then all again, unless a plan says otherwise).
std::vector<Workload> workloads_of(const std::vector<Row>& rows);

}  // namespace corral::plan
