// The embedded store: one SQLite database, `corral.db`, in the store's directory.
//
// It takes no lock: the process that opens it (the server, or an offline `store` command) must hold
// the directory's lock, because two processes that write would each cache another state of the
// sessions. Writes go through one thread (writer.h), reads through a small pool of read-only
// connections, each call in a snapshot of its own. Close it before fork().
#pragma once

#include <filesystem>
#include <memory>

#include "core/result.h"
#include "store/open/raw_store.h"
#include "store/store.h"

namespace corral::store {

struct SqliteOptions {
  std::filesystem::path directory;  // made when missing
  // Reads at once; more wait. One that is kept waiting by its `take` holds a connection.
  std::size_t readers = 16;
  // Another file that must keep its name, like those of the database (Store::intact): the lock.
  std::filesystem::path lock{};
  bool relaxed = false;  // acknowledges before it is on the disk (sqlite::Mode::kRelaxed)
};

// kUnsupported: a network filesystem, a newer schema, another program's database. kCorruption:
// damaged. kPermission, kNoSpace, kIo as the system says. Each message names the file and what to
// do.
Result<std::unique_ptr<Store>> open_sqlite_store(const SqliteOptions& options);

// A database file that a copy goes into (store/maintain/copy.h): made with mode 0600 when it is
// missing, as a file of its own without a log, or as a store's. The copy makes the tables. Errors
// as above.
enum class CopyTarget { kFile, kStore };
Result<RawStore> open_sqlite_target(const std::filesystem::path& file, CopyTarget target);

}  // namespace corral::store
