// Keys are never used again, not even after a copy: what the source ever gave, a row that is gone
// by now included, the destination does not give to another row. Or a removal that was pending when
// the store was copied, or a tombstone, would be taken for the new row's.
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
