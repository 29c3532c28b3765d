// The tables of a store and the migrations that make them (docs/store-schema.md).
//
// A migration that has been released is never changed; a change is a new one at the end of the
// table in schema.cpp.
#pragma once

#include "core/result.h"
#include "store/engine/database.h"

namespace corral::store::sql {

// Version that this program writes: the number of migrations.
int newest_schema();

// The version that the database has; 0: empty. kUnsupported when a newer program wrote it or when
// it is not Corral's; kCorruption when it does not say.
Result<int> schema_version(Connection& database);

// Brings the database to a schema, the newest but in tests; each migration in its own transaction.
// If several processes call it at once, one of them migrates.
Result<> migrate(Connection& database, int schema = newest_schema());

}  // namespace corral::store::sql
