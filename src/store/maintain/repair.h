// repair_session: what the sealer does when what it needs of a session is damaged and can be made
// anew from points: the last pyramid rows of its series, and statistics that cannot be read.
//
// What is good stays as it is, and what sealing does not read is left to `corral store rebuild`:
// the caller is the writer, and acknowledgements wait for it. It reads the statistics and the last
// pyramid rows of the session; beyond these, some blocks of a damaged row, and all blocks of the
// session in a slice whose statistics are damaged.
#pragma once

#include <chrono>
#include <cstdint>

#include "core/result.h"
#include "core/time.h"
#include "store/engine/database.h"

namespace corral::store::maintain {

// Inside the caller's transaction; on several servers one after another. Of many damaged series as
// many as fit into kRepairTime, the rest the next time. kConflict: a seal of another server came
// between.
Result<> repair_session(sql::Connection& db, std::int64_t session);
inline constexpr Nanos kRepairTime = std::chrono::seconds(2);

}  // namespace corral::store::maintain
