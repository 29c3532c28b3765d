// Raw rows: the columns of a plan, one table for all headers and for the keys of a sweep; the cells
// of a row as they stand in the file, and the problems that are found in them.
//
//   radT's paper  Experiment, Workload, Status, Run, Devices, Collocation, Environment, Model,
//   Data,
//                 Listeners, Params
//   its talk      Experiment, Workload, Status, Run, Devices, Collocation, File, Listeners, Params
//   radT 0.2.30   Experiment, Workload, Name, Status, Run, Devices, Collocation, Listeners, File,
//                 Params
//
// Corral's own stand beside them. Found by name in any order, upper and lower case alike.
#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/sha256.h"
#include "plan/plan.h"

namespace corral::plan {

enum class Field : std::size_t {
  kExperiment,
  kWorkload,
  kName,
  kStatus,
  kRun,
  kDevices,
  kCollocation,
  kEnvironment,
  kModel,
  kFile,
  kData,
  kListeners,
  kParams,
  kCpus,
  kMemory,
  kLimits,
  kClocks,
  kPower,
  kCache,
  kRepeat,
  kBaseline,
  kTags,
  kEnv,
  kAfter,
  kEnd,
  kLoop,
};
inline constexpr std::size_t kFields = static_cast<std::size_t>(Field::kLoop) + 1;

// The names of the columns, in the order of Field.
inline constexpr std::array<std::string_view, kFields> kColumnNames = {
    "Experiment",  "Workload", "Name",   "Status", "Run",       "Devices", "Collocation",
    "Environment", "Model",    "File",   "Data",   "Listeners", "Params",  "Cpus",
    "Memory",      "Limits",   "Clocks", "Power",  "Cache",     "Repeat",  "Baseline",
    "Tags",        "Env",      "After",  "End",    "Loop"};
static_assert(!kColumnNames.back().empty());

inline std::string_view column_name(Field field) {
  return kColumnNames[static_cast<std::size_t>(field)];
}
std::optional<Field> find_field(std::string_view name);

struct Refusal {
  std::string reason;
  std::string advice = {};
};
// Nothing: the cell was taken.
using Verdict = std::optional<Refusal>;

// A row as it stands in the file. The views are of text that outlives it.
struct RawRow {
  static constexpr std::size_t kNowhere = static_cast<std::size_t>(-1);
  int line = 0;
  std::array<std::string_view, kFields> values;
  std::array<std::size_t, kFields> offsets;  // begin of the cell, or kNowhere
  std::array<int, kFields> lines{};          // its line, where that is another than the row's; or 0

  RawRow() { offsets.fill(kNowhere); }
  [[nodiscard]] std::string_view operator[](Field field) const {
    return values[static_cast<std::size_t>(field)];
  }
  void set(Field field, std::string_view value, std::size_t offset, int at_line = 0) {
    values[static_cast<std::size_t>(field)] = value;
    offsets[static_cast<std::size_t>(field)] = offset;
    lines[static_cast<std::size_t>(field)] = at_line;
  }
};

// Hash of the row's requests: all known columns but Status and Run, and of a sweep without its
// number. Not yet which one of equal rows it is.
Sha256 content_hash(const RawRow& row, bool with_workload);

class ProblemList {
 public:
  // `text`: the whole file, for columns.
  explicit ProblemList(std::string_view text) : text_(text) {}
  void add(const RawRow& row, Field field, const Refusal& refusal,
           Severity severity = Severity::kError);
  void warn(const RawRow& row, Field field, const Refusal& refusal) {
    add(row, field, refusal, Severity::kWarning);
  }
  void add(Problem problem) { problems_.push_back(std::move(problem)); }
  // A problem that many rows have for one reason is reported for the first, with their number.
  void add_once(const RawRow& row, Field field, const Refusal& refusal,
                Severity severity = Severity::kError);
  [[nodiscard]] std::string_view text() const { return text_; }
  std::vector<Problem>& all() { return problems_; }
  // Returns problems by line and column; beyond some hundreds only their number.
  std::vector<Problem> take_sorted();

 private:
  void group_equal();
  std::string_view text_;
  std::vector<Problem> problems_;
  std::set<std::string> said_;  // for sweeps, all of whose rows stand in the same place
  struct Repeated {
    std::size_t problem = 0;  // its index
    std::size_t rows = 0;
  };
  std::map<std::string, Repeated> repeated_;
};

// Returns a problem of a whole line; 0: of the file.
Problem line_problem(int line, std::string reason, std::string advice = "",
                     Severity severity = Severity::kError);

// Reports problems that make a text unreadable as a whole, in CSV and sweeps alike; returns false
// if there is one.
bool check_text(ProblemList& problems);

}  // namespace corral::plan
