// Keys are never reused, not even after a copy: the destination gives no row a key that the source
// has ever used, also for a row that was deleted. Otherwise a removal that was pending during the
// copy, or a tombstone, would apply to the new row.
#pragma once

#include "core/result.h"
#include "store/engine/database.h"
#include "store/maintain/tables.h"

namespace corral::store::maintain {

// New rows of the table, whose rows the engine numbers, get keys in `to` that are greater than
// every key that was given in `from`, or that a row of `to` has or refers to. After all tables were
// copied, outside a transaction.
Result<> skip_used_keys(sql::Connection& from, sql::Connection& to, const Table& table);

}  // namespace corral::store::maintain
