// The SQLite driver: engine/database.h over one file; database.cpp alone includes sqlite3.h.
//
// SQLite lacks greatest() and least() as PostgreSQL has them; every connection registers them.
#pragma once

#include <filesystem>
#include <memory>

#include "store/engine/database.h"

namespace corral::store::sqlite {

// kRelaxed writes with synchronous=NORMAL: in WAL mode a power cut may take back the last commits,
// and harms nothing else.
enum class Mode { kReadWrite, kReadOnly, kRelaxed };

// No memory mapping, else synchronous=FULL; a writer makes the file when it is missing (the store
// then turns WAL on).
Result<std::unique_ptr<sql::Connection>> open_database(const std::filesystem::path& file,
                                                       Mode mode);

}  // namespace corral::store::sqlite
