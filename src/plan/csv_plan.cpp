#include "plan/csv_plan.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "core/text.h"
#include "plan/assemble.h"
#include "plan/plan_file.h"
#include "plan/spelling.h"

namespace corral::plan {
namespace {

// Ten times the largest plan that was thought of.
constexpr std::size_t kMostRows = 100'000;

// Above this a file is no plan.
constexpr std::size_t kMostColumns = 256;

Header read_header(const CsvRecord& record, ProblemList& problems) {
  Header header;
  const auto report = [&](std::size_t i, const char* reason, const std::string& advice,
                          Severity severity = Severity::kError) {
    const CsvCell& cell = record.cells[i];
    problems.add({severity, record.line, column_at(problems.text(), cell.begin), "header",
                  cell.value, reason, advice});
  };
  for (std::size_t i = 0; i < std::min(record.cells.size(), kMostColumns); ++i) {
    const std::string& name = record.cells[i].value;
    if (name.empty()) continue;
    header.width = i + 1;
    if (const auto field = find_field(name)) {
      auto& cell = header.cell_of[static_cast<std::size_t>(*field)];
      if (cell) {
        report(i, "this column is given twice", "remove one");
      } else {
        cell = i;
      }
      continue;
    }
    const std::string near(nearest_word(name, kColumnNames));
    if (near.empty()) continue;
    header.misspelt[static_cast<std::size_t>(*find_field(near))] = problems.all().size();
    report(i, "not a column of a plan; its cells are kept and ignored",
           "did you mean " + near + "?", Severity::kWarning);
  }
  if (record.cells.size() > kMostColumns)
    report(kMostColumns, "too many columns for a plan", "the rest is ignored");
  return header;
}

// A column that has to be there and that a misspelt one was meant to be: that is the error.
bool blame_spelling(const Header& header, Field field, ProblemList& problems) {
  const auto misspelt = header.misspelt[static_cast<std::size_t>(field)];
  if (!misspelt) return false;
  Problem& problem = problems.all()[*misspelt];
  problem.severity = Severity::kError;
  problem.reason =
      fmt::format("not a column of a plan, and the header has no {}", column_name(field));
  return true;
}

void check_header(const CsvPlan& plan, ProblemList& problems) {
  const int line = plan.table.records.front().line;
  const auto has = [&](Field field) { return plan.header.at(field).has_value(); };
  const auto meant = [&](Field field) { return blame_spelling(plan.header, field, problems); };
  const auto& cells = plan.header.cell_of;
  const auto known = std::ranges::count_if(cells, [](const auto& c) { return c.has_value(); });
  if (known < 2) {
    problems.add(line_problem(line, "this line is not the header of a plan",
                              "such as Experiment,Workload,Name,Status,Run,Devices,Collocation,"
                              "Listeners,File,Params"));
    return;
  }
  for (const Field field : {Field::kExperiment, Field::kWorkload}) {
    if (!has(field) && !meant(field))
      problems.add(
          line_problem(line, fmt::format("the header has no column {}", column_name(field))));
  }
  if (!has(Field::kModel) && !has(Field::kFile) && !meant(Field::kFile) && !meant(Field::kModel))
    problems.add(line_problem(line, "the header has no column Model and no File",
                              "one of them names the script"));
}

// As word processors make them of straight ones.
bool has_curly_quotes(std::string_view line) {
  for (const std::string_view quote : {"\u201c", "\u201d", "\u201e", "\u2018", "\u2019"})
    if (line.find(quote) != std::string_view::npos) return true;
  return false;
}

const char* separator_name(char separator) {
  return separator == ';' ? "semicolons" : separator == '\t' ? "tabs" : "bars";
}

class RowCollector {
 public:
  RowCollector(CsvPlan& plan, ProblemList& problems) : plan_(plan), problems_(problems) {}

  void add(std::size_t index) {
    const CsvRecord& record = plan_.table.records[index];
    const auto filled = [](const CsvCell& cell) { return !cell.value.empty(); };
    // Spreadsheets leave rows of nothing but separators.
    if (std::ranges::none_of(record.cells, filled)) return;
    if (plan_.raws.size() == kMostRows) {
      if (!full_)
        problems_.add(
            line_problem(record.line, fmt::format("a plan has at most {} rows", kMostRows)));
      full_ = true;
      return;
    }
    RawRow raw;
    raw.line = record.line;
    for (std::size_t i = 0; i < kFields; ++i) {
      const auto field = static_cast<Field>(i);
      const auto at = plan_.header.at(field);
      if (at && *at < record.cells.size())
        raw.set(field, record.cells[*at].value, value_start(record.cells[*at]));
    }
    check_width(record);
    plan_.raws.push_back(raw);
    plan_.record_of.push_back(index);
  }

 private:
  // Behind the spaces before it.
  [[nodiscard]] std::size_t value_start(const CsvCell& cell) const {
    const std::size_t at = problems_.text().find_first_not_of(" \t", cell.begin);
    return at < cell.end ? at : cell.begin;
  }
  void check_width(const CsvRecord& record) {
    const std::size_t width = plan_.table.records.front().cells.size();
    for (std::size_t i = width; i < record.cells.size(); ++i) {
      if (record.cells[i].value.empty()) continue;
      problems_.add({Severity::kError, record.line,
                     column_at(problems_.text(), record.cells[i].begin), "", record.cells[i].value,
                     fmt::format("a cell more than the header has ({})", width),
                     "a value that contains the separator needs double quotes"});
      return;
    }
    if (record.cells.size() < plan_.header.width)
      problems_.add(line_problem(record.line,
                                 fmt::format("{} cells, the header has {}: the last ones are empty",
                                             record.cells.size(), plan_.header.width),
                                 "", Severity::kWarning));
  }

  CsvPlan& plan_;
  ProblemList& problems_;
  bool full_ = false;
};

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
  static const std::string& value_for(const Mark& mark, Field field) {
    return field == Field::kStatus ? mark.status : mark.run;
  }

  void add_to_header() {
    const CsvRecord& header = plan_.table.records.front();
    std::string names;
    for (const Field field : absent_) names += separator() + std::string(column_name(field));
    put_in(header.cells[plan_.header.width - 1].end, names);
  }

  void write_row(const CsvRecord& record, const Mark* mark) {
    const std::size_t width = plan_.header.width;
    const bool whole = record.cells.size() >= width;
    std::string tail;
    if (mark != nullptr) {
      for (const Field field : {Field::kStatus, Field::kRun}) {
        const auto at = plan_.header.at(field);
        if (at && *at < record.cells.size()) replace(record.cells[*at], value_for(*mark, field));
      }
      if (!whole) tail = missing_cells(record, *mark);
    }
    // A short row stays short, unless it has something to say.
    if (mark != nullptr || whole) {
      for (const Field field : absent_)
        tail += separator() + (mark == nullptr ? "" : cell(value_for(*mark, field)));
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
        if (plan_.header.at(field) != at || value_for(mark, field).empty()) continue;
        cells += cell(value_for(mark, field));
        needed = true;
      }
    }
    return needed ? cells : "";
  }

  [[nodiscard]] std::string cell(const std::string& value) const {
    std::string flat = value;
    std::ranges::replace_if(
        flat, [](char c) { return c == '\n' || c == '\r'; }, ' ');
    return csv_cell(flat, separator());
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

CsvPlan read_csv_plan(ProblemList& problems) {
  const std::string_view text = problems.text();
  CsvPlan plan;
  plan.table = read_csv(text);
  for (const CsvFault& fault : plan.table.faults)
    problems.add({Severity::kError, fault.line, fault.column, "", fault.value, fault.reason, ""});
  if (plan.table.records.empty()) {
    problems.add(line_problem(0, "the file has no header and no rows"));
    return plan;
  }
  const CsvRecord& first = plan.table.records.front();
  if (has_curly_quotes(text.substr(first.begin, first.end - first.begin))) {
    problems.add(line_problem(first.line, "the header holds curly quotes, which quote nothing",
                              "write \" in place of \u201c and \u201d, or none"));
    return plan;
  }
  plan.header = read_header(first, problems);
  check_header(plan, problems);
  if (plan.table.separator != ',' && !plan.table.declared)
    problems.add(line_problem(first.line,
                              fmt::format("cells are separated by {} and read that way",
                                          separator_name(plan.table.separator)),
                              "", Severity::kWarning));
  plan.raws.reserve(std::min(plan.table.records.size(), kMostRows));
  plan.record_of.reserve(plan.raws.capacity());
  RowCollector collector(plan, problems);
  for (std::size_t i = 1; i < plan.table.records.size(); ++i) collector.add(i);
  if (plan.raws.empty()) problems.add(line_problem(0, "the file has no rows"));
  return plan;
}

Plan parse_csv_plan(std::string_view text, const fs::path& directory, const Known& known) {
  ProblemList problems(text);
  if (!check_text(problems)) return {{}, problems.take_sorted()};
  const CsvPlan csv = read_csv_plan(problems);
  const auto lacks = [&](Field field) { return !csv.header.at(field); };
  return assemble_plan(csv.raws,
                       {.directory = directory,
                        .known = known,
                        .missing = {.experiment = lacks(Field::kExperiment),
                                    .workload = lacks(Field::kWorkload),
                                    .script = lacks(Field::kModel) && lacks(Field::kFile)}},
                       problems);
}

Result<std::string> mark_csv(std::string_view text, const std::vector<Mark>& marks,
                             Marked& marked) {
  ProblemList problems(text);
  if (!check_text(problems)) return fail(Code::kInvalidArgument, problems.all().front().reason);
  const CsvPlan plan = read_csv_plan(problems);
  for (const Problem& problem : problems.all()) {
    if (problem.severity == Severity::kError)
      return fail(Code::kInvalidArgument, to_line(problem, "the plan"));
  }
  const auto found = marks_by_row(plan.raws, true, marks, marked);
  if (found.empty()) return std::string(text);
  CsvMarker marker(text, plan);
  marked.added_columns = marker.adds_columns();
  return marker.write(found);
}

}  // namespace corral::plan
