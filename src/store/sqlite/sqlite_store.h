// The embedded store: one SQLite database, `corral.db`, in the store's directory.
//
// It takes no lock: whoever opens it (the server, an offline `store` verb) holds the directory's
// lock first, because two processes that write would each have their own idea of the sessions.
// Writes go through one thread (writer.h), reads through a small pool of read-only connections,
// each call in a snapshot of its own. Close it before fork().
#pragma once

#include <filesystem>
#include <memory>

#include "core/result.h"
#include "store/store.h"

namespace corral::store {

struct SqliteOptions {
  std::filesystem::path directory;  // made when missing
  // Reads at once; more wait. One that is kept waiting by its `take` holds a connection.
  std::size_t readers = 16;
};

// kUnsupported: a network filesystem, a newer schema, another program's database. kCorruption:
// damaged. kPermission, kNoSpace, kIo as the system says. Each message names the file and what to
// do.
Result<std::unique_ptr<Store>> open_sqlite_store(const SqliteOptions& options);

}  // namespace corral::store
