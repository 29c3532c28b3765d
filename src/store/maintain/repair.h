// repair_session: remakes from points the damaged data of a session that the sealer needs: the last
// pyramid rows of its series, and statistics that cannot be read.
//
// Good data stays as it is. Data that sealing does not read is left to `corral store rebuild`,
// because the caller is the writer and acknowledgements wait for it. A repair reads the statistics
// and the last pyramid rows of the session; beyond these, some blocks of a damaged row, and all
// blocks of the session in a slice whose statistics are damaged.
#pragma once

#include <chrono>
#include <cstdint>

#include "core/result.h"
#include "core/time.h"
#include "store/engine/database.h"

namespace corral::store::maintain {

// Runs inside the caller's transaction; several servers do so one after another. If many series are
// damaged, a call repairs as many as fit into kRepairTime, and the next call goes on. kConflict:
// another server sealed the session meanwhile.
Result<> repair_session(sql::Connection& db, std::int64_t session);
inline constexpr Nanos kRepairTime = std::chrono::seconds(2);

}  // namespace corral::store::maintain
