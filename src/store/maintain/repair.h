// repair_session: what the sealer does when what it needs of a session is damaged and can be made
// anew from points: pyramid rows of its series, statistics of its slices.
#pragma once

#include <cstdint>

#include "core/result.h"
#include "store/sql/database.h"

namespace corral::store::maintain {

// Inside the caller's transaction; as long as reading the blocks of the damaged series takes.
Result<> repair_session(sql::Connection& db, std::int64_t session);

}  // namespace corral::store::maintain
