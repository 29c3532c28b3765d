// Reads the rows of a plan: from the cells of each to its requests. Checks across several rows are
// in assemble.h.
#pragma once

#include <vector>

#include "plan/known.h"
#include "plan/plan.h"
#include "plan/raw_row.h"

namespace corral::plan {

// Columns that the whole file lacks, as was reported already.
struct MissingColumns {
  bool experiment = false;
  bool workload = false;
  bool script = false;
};

struct RowContext {
  fs::path directory;  // the plan's folder: relative names start here
  const Known& known;
  bool sweep = false;        // the number of a row's workload is no part of its key
  MissingColumns missing{};  // not reported again for each row

  // Returns true if the grouping of rows is known.
  [[nodiscard]] bool has_groups() const { return !missing.experiment && !missing.workload; }
};

// Returns the rows without key and letter, which depend on other rows.
std::vector<Row> read_rows(const std::vector<RawRow>& raws, const RowContext& context,
                           ProblemList& problems);

}  // namespace corral::plan
