// The statistics of a session's slices, recomputed from its row groups and blocks.
#pragma once

#include <cstdint>

#include "core/result.h"
#include "store/engine/database.h"
#include "store/maintain/finding.h"

namespace corral::store::maintain {

// kUnreadable: those whose statistics do not decode; others stay as they are, and are not compared.
enum class Slices : std::uint8_t { kAll, kUnreadable };

// Inside the caller's transaction, with the session's row locked; how many slices were written.
// Damaged row groups are findings. kConflict: another server sealed meanwhile, nothing may be kept
// of the transaction; to be tried again.
Result<std::int64_t> rebuild_slices(sql::Connection& db, Findings& findings, std::int64_t session,
                                    Slices which = Slices::kAll);

}  // namespace corral::store::maintain
