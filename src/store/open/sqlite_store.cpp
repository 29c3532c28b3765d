#include "store/open/sqlite_store.h"

#include <fcntl.h>
#include <fmt/core.h>

#include "store/engine/schema.h"
#include "store/engine/sqlite/database.h"
#include "store/machinery.h"
#include "store/maintain/repair.h"
#include "sys/file.h"
#include "sys/named_files.h"

namespace corral::store {
namespace fs = std::filesystem;
namespace {

constexpr std::int64_t kApplicationId = 0x4352524C;  // "CRRL": what `file` and other tools see

// The system's own words for a directory that cannot be made or written; SQLite's are "unable to
// open database file".
Result<> check_place(const fs::path& directory, const fs::path& file) {
  const sys::FilesystemKind kind = TRY(sys::filesystem_of(directory));
  if (kind.network) {
    return fail(Code::kUnsupported,
                fmt::format("{} is on a network filesystem ({}), where an embedded store is not "
                            "safe: use a local directory "
                            "(--store DIR) or a database server (--store postgresql://...)",
                            directory.string(), kind.name));
  }
  TRY(sys::make_directories(directory));
  TRY(sys::open_file(file, O_RDWR | O_CREAT, 0600));
  return {};
}

// A foreign database is left as it is.
Result<> prepare(sql::Connection& database) {
  TRY(sql::schema_version(database));
  TRY(database.script("PRAGMA journal_mode = WAL"));
  TRY(sql::migrate(database));
  if (TRY(database.number("PRAGMA application_id")) == kApplicationId) return {};
  return database.script(fmt::format("PRAGMA application_id = {}", kApplicationId));
}

// The writer's connection keeps the database and its log open, the caller the lock.
sql::Intact watch_names(const SqliteOptions& options, const fs::path& file) {
  std::vector<fs::path> paths{file, file.string() + "-wal"};
  if (!options.lock.empty()) paths.push_back(options.lock);
  const auto files = std::make_shared<const sys::NamedFiles>(paths);
  return [files, store = options.directory.string()]() -> Result<> {
    const auto named = files->check();
    if (named) return {};
    if (named.error().code != Code::kNotFound)
      return fail(Code::kUnavailable, "the store cannot be looked at: " + named.error().message);
    return fail(
        Code::kUnavailable,
        fmt::format("the store {} was deleted, moved or replaced while its server ran ({}): the "
                    "server stores nothing more and leaves; what it did not acknowledge waits in "
                    "the spools. Put the store back, or leave its place empty for a new one, and "
                    "start a server there",
                    store, named.error().message));
  };
}

// The first read of another file of that name would cut the shared memory of the log from under the
// writer, which is SIGBUS. Opening reads nothing where a log is, so the names are checked before
// the first read, and not only before opening.
sql::OpenConnection reader_of_named(const fs::path& file, const sql::Intact& intact) {
  return [file, intact]() -> Result<std::unique_ptr<sql::Connection>> {
    TRY(intact());
    auto reader = TRY(sqlite::open_database(file, sqlite::Mode::kReadOnly));
    TRY(intact());
    return reader;
  };
}

}  // namespace

Result<std::unique_ptr<Store>> open_sqlite_store(const SqliteOptions& options) {
  const auto open = [&]() -> Result<std::unique_ptr<Store>> {
    const fs::path file = options.directory / "corral.db";
    TRY(check_place(options.directory, file));
    auto writer = TRY(sqlite::open_database(
        file, options.relaxed ? sqlite::Mode::kRelaxed : sqlite::Mode::kReadWrite));
    TRY(prepare(*writer));
    const sql::Intact intact = watch_names(options, file);
    return std::make_unique<Store>(StoreParts{
        .location = file.string(),
        .writer = std::move(writer),
        .open_reader = reader_of_named(file, intact),
        .open_chart_reader = {},
        .readers = options.readers,
        .repair = maintain::repair_session,
        .intact = intact,
    });
  };
  auto store = open();
  if (!store)
    return tl::unexpected(store.error().with_context("store " + options.directory.string()));
  return store;
}

Result<RawStore> open_sqlite_target(const fs::path& file, CopyTarget target) {
  const fs::path directory = file.parent_path();
  TRY(check_place(directory.empty() ? fs::path(".") : directory, file));
  auto database = TRY(sqlite::open_database(file, sqlite::Mode::kReadWrite));
  if (!TRY(database->has_table("meta")) && !TRY(database->empty()))
    return fail(Code::kUnsupported, file.string() + " is the database of another program");
  TRY(database->script(target == CopyTarget::kStore ? "PRAGMA journal_mode = WAL"
                                                    : "PRAGMA journal_mode = DELETE"));
  TRY(database->script(fmt::format("PRAGMA application_id = {}", kApplicationId)));
  return RawStore(std::move(database));
}

}  // namespace corral::store
