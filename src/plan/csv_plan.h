// A CSV file as rows of cells, for reading a plan and for marking one: both see the same rows.
#pragma once

#include <array>
#include <optional>
#include <string_view>
#include <vector>

#include "plan/csv.h"
#include "plan/raw_row.h"

namespace corral::plan {

// The field of each cell of a record.
struct Header {
  std::array<std::optional<std::size_t>, kFields> cell_of;
  std::size_t width = 0;  // columns up to the last one with a name
  // The problem that says that a cell was probably meant to be this field.
  std::array<std::optional<std::size_t>, kFields> misspelt;
  [[nodiscard]] std::optional<std::size_t> at(Field field) const {
    return cell_of[static_cast<std::size_t>(field)];
  }
};

struct CsvPlan {
  CsvTable table;
  Header header;
  std::vector<RawRow> raws;            // rows that say anything; the views are of `table`
  std::vector<std::size_t> record_of;  // index of each row's record
};

// Reads the text of `problems` and appends every fault of its form.
CsvPlan read_csv_plan(ProblemList& problems);

}  // namespace corral::plan
