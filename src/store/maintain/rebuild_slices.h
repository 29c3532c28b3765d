// The statistics of a session's slices, made anew from its row groups and blocks.
#pragma once

#include <cstdint>

#include "core/result.h"
#include "store/maintain/finding.h"
#include "store/sql/database.h"

namespace corral::store::maintain {

// Inside the caller's transaction; how many slices were written. Damaged row groups are findings.
Result<std::int64_t> rebuild_slices(sql::Connection& db, Findings& findings, std::int64_t session);

}  // namespace corral::store::maintain
