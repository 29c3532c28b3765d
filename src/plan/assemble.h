// Assembles a plan from its rows: keys, letters, and the checks of rows together: devices and MIG,
// order and end of workloads, and if this machine can run them.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "plan/plan.h"
#include "plan/plan_file.h"
#include "plan/raw_row.h"
#include "plan/row.h"

namespace corral::plan {

// Returns 16 hex digits per row: a hash of its content and of its position among equal rows.
std::vector<std::string> row_keys(const std::vector<RawRow>& raws, bool with_workload);

// Returns the last mark of each row that has one; adds the keys of no row to `marked.lost`.
std::map<std::size_t, const Mark*> marks_by_row(const std::vector<RawRow>& raws, bool with_workload,
                                                const std::vector<Mark>& marks, Marked& marked);

// Index of the rows of each workload, in order of first appearance.
std::vector<std::vector<std::size_t>> rows_by_workload(const std::vector<Row>& rows);

Plan assemble_plan(const std::vector<RawRow>& raws, const RowContext& context,
                   ProblemList& problems);

}  // namespace corral::plan
