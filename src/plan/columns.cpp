#include "plan/columns.h"

#include <fmt/core.h>

#include <algorithm>

#include "core/text.h"
#include "plan/spelling.h"

namespace corral::plan {

namespace {

constexpr bool in_order() {
  for (std::size_t i = 0; i < kFields; ++i) {
    if (static_cast<std::size_t>(kColumns[i].field) != i) return false;
  }
  return true;
}
static_assert(in_order());

// Above this a file is no plan.
constexpr std::size_t kMostColumns = 256;

class HeaderReader {
 public:
  HeaderReader(std::string_view text, const CsvRecord& record, std::vector<Problem>& problems)
      : text_(text), record_(record), problems_(problems) {}

  Header read() {
    const std::size_t count = std::min(record_.cells.size(), kMostColumns);
    for (std::size_t i = 0; i < count; ++i) take(i);
    if (record_.cells.size() > kMostColumns)
      say(kMostColumns, "too many columns for a plan", "the rest is ignored");
    return header_;
  }

 private:
  void take(std::size_t i) {
    const std::string& name = record_.cells[i].value;
    if (name.empty()) return;
    header_.width = i + 1;
    const auto field = field_of(name);
    if (!field) {
      const std::string near = nearest_column(name);
      if (near.empty()) return;
      header_.misspelt[static_cast<std::size_t>(*field_of(near))] = problems_.size();
      say(i, "not a column of a plan; its cells are kept and ignored", "did you mean " + near + "?",
          Severity::kWarning);
      return;
    }
    auto& cell = header_.cell_of[static_cast<std::size_t>(*field)];
    if (cell) {
      say(i, "this column is given twice", "remove one");
      return;
    }
    cell = i;
  }
  void say(std::size_t i, const char* reason, const std::string& advice,
           Severity severity = Severity::kError) {
    problems_.push_back({severity, record_.line, column_of(text_, record_.cells[i].begin), "header",
                         record_.cells[i].value, reason, advice});
  }

  std::string_view text_;
  const CsvRecord& record_;
  std::vector<Problem>& problems_;
  Header header_;
};

}  // namespace

std::string_view name_of(Field field) { return kColumns[static_cast<std::size_t>(field)].name; }

std::optional<Field> field_of(std::string_view name) {
  for (const Column& column : kColumns) {
    if (equal_ignoring_case(column.name, name)) return column.field;
  }
  return std::nullopt;
}

std::string nearest_column(std::string_view name) {
  std::array<std::string_view, kFields> names;
  std::ranges::transform(kColumns, names.begin(), &Column::name);
  return std::string(nearest_word(name, names));
}

Header read_header(std::string_view text, const CsvRecord& record, std::vector<Problem>& problems) {
  return HeaderReader(text, record, problems).read();
}

}  // namespace corral::plan
