// Properties of rows together: keys, letters, and if they can be run as they stand.
#pragma once

#include <vector>

#include "plan/known.h"
#include "plan/row.h"

namespace corral::plan {

// Returns 16 hex digits per row: a hash of its content and of its position among equal rows.
std::vector<std::string> keys_of(const std::vector<RawRow>& raws, bool with_workload);

// Index of the rows of each workload, in order of first appearance.
std::vector<std::vector<std::size_t>> groups_of(const std::vector<Row>& rows);

// Everything that concerns several rows or the machine. `raws` are the same rows.
void check_rows(const std::vector<Row>& rows, const std::vector<RawRow>& raws, const Known& known,
                ProblemList& problems);
// Parts of check_rows(), a file each: devices and MIG; order and end of workloads.
void check_devices(const std::vector<Row>& rows, const std::vector<RawRow>& raws,
                   const Known& known, ProblemList& problems);
void check_workloads(const std::vector<Row>& rows, const std::vector<RawRow>& raws,
                     ProblemList& problems);

// Reads the rows, gives keys and letters, checks.
Plan finish_plan(const std::vector<RawRow>& raws, bool sweep, RowReader& reader, const Known& known,
                 ProblemList& problems);

}  // namespace corral::plan
