// Rows: from the cells of one row to its requests. Checks across several rows are in check.h.
#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "plan/cells.h"
#include "plan/columns.h"
#include "plan/known.h"
#include "plan/plan.h"

namespace corral::plan {

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
std::string content_hash(const RawRow& row, bool with_workload);

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
  std::vector<Problem> take();

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

// Columns that the whole file lacks, as was reported already.
struct MissingColumns {
  bool experiment = false;
  bool workload = false;
  bool script = false;
};

class RowReader {
 public:
  RowReader(fs::path directory, const Known& known, ProblemList& problems)
      : directory_(std::move(directory)), known_(known), problems_(problems) {}
  // Do not report these again for each row.
  void without(MissingColumns missing) { missing_ = missing; }
  // Returns true if the grouping of rows is known.
  [[nodiscard]] bool has_groups() const { return !missing_.experiment && !missing_.workload; }
  // Without key and letter, which depend on other rows.
  Row read(const RawRow& raw);

 private:
  void read_names(const RawRow& raw, Row& row);
  void read_command(const RawRow& raw, Row& row);
  void read_params(const RawRow& raw, Row& row);
  void read_listeners(const RawRow& raw, Row& row);
  void read_environment(const RawRow& raw, Row& row);
  void check_environment(const RawRow& raw);
  void read_share(const RawRow& raw, Row& row);
  void read_course(const RawRow& raw, Row& row);
  void check_program(const RawRow& raw, Field field, const Row& row);
  void check_reach(const RawRow& raw, const Row& row);
  void note(const RawRow& raw, Field field, const Verdict& verdict) {
    if (verdict) problems_.add(raw, field, *verdict);
  }
  // Seen from the plan's folder.
  bool exists(const std::string& name);
  [[nodiscard]] bool executable(const std::string& name) const;
  void check_executable(const RawRow& raw, Field field, const std::string& word);
  [[nodiscard]] std::string nearest_file(const std::string& word) const;

  fs::path directory_;
  const Known& known_;
  ProblemList& problems_;
  MissingColumns missing_;
  // Cached answers.
  std::map<std::string, std::string, std::less<>> listeners_, environments_;
  std::map<std::string, std::optional<Lack>, std::less<>> lacks_;
  std::map<std::string, bool> exists_;
};

}  // namespace corral::plan
