// A CSV file as rows of cells, for reading a plan and for marking one: both see the same rows.
#pragma once

#include <string_view>
#include <vector>

#include "plan/columns.h"
#include "plan/csv.h"
#include "plan/row.h"

namespace corral::plan {

struct CsvPlan {
  CsvTable table;
  Header header;
  std::vector<RawRow> raws;            // rows that say anything; the views are of `table`
  std::vector<std::size_t> record_of;  // index of each row's record
};

// Appends every fault of the form to `problems`.
CsvPlan read_csv_plan(std::string_view text, ProblemList& problems);

// Reports problems that make a text unreadable as a whole, in CSV and sweeps alike; returns false
// if there is one.
bool check_text(std::string_view text, ProblemList& problems);

}  // namespace corral::plan
