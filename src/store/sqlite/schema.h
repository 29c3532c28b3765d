// The tables of the embedded store and the steps that brought them about (docs/store-schema.md).
//
// A migration that has been released is never changed; a change is a new one at the end of the
// table in schema.cpp.
#pragma once

#include "core/result.h"
#include "store/sqlite/database.h"

namespace corral::store::sqlite {

// Version that this program writes: the number of migrations.
int newest_schema();

// Brings the database to newest_schema(), each step in its own transaction. kUnsupported when a
// newer program wrote it or when it is not Corral's; kCorruption when it is damaged.
Result<> migrate(Connection& database);

Result<int> schema_version(Connection& database);

}  // namespace corral::store::sqlite
