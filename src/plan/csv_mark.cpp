#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <unordered_map>

#include "plan/csv_plan.h"
#include "plan/finish.h"
#include "plan/plan_file.h"

namespace corral::plan {
namespace {

// One place of the text and what stands there instead; begin == end: put in.
struct Edit {
  std::size_t begin = 0, end = 0;
  std::string text;
};

class CsvMarker {
 public:
  CsvMarker(std::string_view text, const CsvPlan& plan) : text_(text), plan_(plan) {
    for (const Field field : {Field::kStatus, Field::kRun}) {
      if (!plan_.header.at(field)) absent_.push_back(field);
    }
  }

  [[nodiscard]] bool adds_columns() const { return !absent_.empty(); }

  // `marks`: of rows by their number. Called with at least one.
  std::string write(const std::map<std::size_t, const Mark*>& marks) {
    if (adds_columns()) add_to_header();
    for (std::size_t i = 0; i < plan_.raws.size(); ++i) {
      const auto mark = marks.find(i);
      write_row(plan_.table.records[plan_.record_of[i]],
                mark == marks.end() ? nullptr : mark->second);
    }
    return spliced();
  }

 private:
  [[nodiscard]] char separator() const { return plan_.table.separator; }
  static const std::string& value_of(const Mark& mark, Field field) {
    return field == Field::kStatus ? mark.status : mark.run;
  }

  void add_to_header() {
    const CsvRecord& header = plan_.table.records.front();
    std::string names;
    for (const Field field : absent_) names += separator() + std::string(name_of(field));
    put_in(header.cells[plan_.header.width - 1].end, names);
  }

  void write_row(const CsvRecord& record, const Mark* mark) {
    const std::size_t width = plan_.header.width;
    const bool whole = record.cells.size() >= width;
    std::string tail;
    if (mark != nullptr) {
      for (const Field field : {Field::kStatus, Field::kRun}) {
        const auto at = plan_.header.at(field);
        if (at && *at < record.cells.size()) replace(record.cells[*at], value_of(*mark, field));
      }
      if (!whole) tail = missing_cells(record, *mark);
    }
    // A short row stays short, unless it has something to say.
    if (mark != nullptr || whole) {
      for (const Field field : absent_)
        tail += separator() + (mark == nullptr ? "" : cell(value_of(*mark, field)));
    }
    if (!tail.empty()) put_in(whole ? record.cells[width - 1].end : record.end, tail);
  }

  // Returns the cells of the header's columns that a short row lacks; empty if there is nothing to
  // put into them.
  [[nodiscard]] std::string missing_cells(const CsvRecord& record, const Mark& mark) const {
    std::string cells;
    bool needed = adds_columns();
    for (std::size_t at = record.cells.size(); at < plan_.header.width; ++at) {
      cells += separator();
      for (const Field field : {Field::kStatus, Field::kRun}) {
        if (plan_.header.at(field) != at || value_of(mark, field).empty()) continue;
        cells += cell(value_of(mark, field));
        needed = true;
      }
    }
    return needed ? cells : "";
  }

  [[nodiscard]] std::string cell(const std::string& value) const {
    return csv_cell(value, separator());
  }

  void replace(const CsvCell& old, const std::string& value) {
    if (old.value == value) return;
    std::string text = cell(value);
    if (text == old.value && text.empty()) return;
    // Columns that were aligned with spaces stay aligned as far as there is room.
    const std::size_t room = old.end - old.begin;
    if (room > 0 && text_[old.begin] == ' ' && text.size() < room)
      text.insert(0, room - text.size(), ' ');
    edits_.push_back({old.begin, old.end, std::move(text)});
  }
  void put_in(std::size_t at, std::string text) { edits_.push_back({at, at, std::move(text)}); }

  [[nodiscard]] std::string spliced() {
    std::ranges::stable_sort(edits_, {}, &Edit::begin);
    std::string out;
    out.reserve(text_.size() + 64 * edits_.size());
    std::size_t at = 0;
    for (const Edit& edit : edits_) {
      out += text_.substr(at, edit.begin - at);
      out += edit.text;
      at = edit.end;
    }
    out += text_.substr(at);
    return out;
  }

  std::string_view text_;
  const CsvPlan& plan_;
  std::vector<Field> absent_;
  std::vector<Edit> edits_;
};

}  // namespace

Result<std::string> mark_csv(std::string_view text, const std::vector<Mark>& marks,
                             Marked& marked) {
  ProblemList problems(text);
  if (!check_text(text, problems))
    return fail(Code::kInvalidArgument, problems.all().front().reason);
  const CsvPlan plan = read_csv_plan(text, problems);
  for (const Problem& problem : problems.all()) {
    if (problem.severity == Severity::kError)
      return fail(Code::kInvalidArgument, to_line(problem, "the plan"));
  }
  std::unordered_map<std::string, std::size_t> row_of;
  const auto keys = keys_of(plan.raws, true);
  for (std::size_t i = 0; i < keys.size(); ++i) row_of.emplace(keys[i], i);
  std::map<std::size_t, const Mark*> found;
  for (const Mark& mark : marks) {
    const auto row = row_of.find(mark.key);
    if (row == row_of.end()) {
      marked.lost.push_back(mark.key);
    } else {
      found[row->second] = &mark;
    }
  }
  if (found.empty()) return std::string(text);
  CsvMarker marker(text, plan);
  marked.added_columns = marker.adds_columns();
  return marker.write(found);
}

}  // namespace corral::plan
