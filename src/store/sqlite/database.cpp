#include "store/sqlite/database.h"

#include <sqlite3.h>

#include <cerrno>

namespace corral::store::sqlite {
namespace {

Code code_of(sqlite3* handle, int rc) {
  const int system_error = sqlite3_system_errno(handle);
  switch (rc & 0xFF) {
    case SQLITE_FULL:
      return Code::kNoSpace;
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return Code::kCorruption;
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return Code::kUnavailable;
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_AUTH:
    case SQLITE_CANTOPEN:
      return Code::kPermission;
    case SQLITE_TOOBIG:
      return Code::kTooLarge;
    case SQLITE_IOERR:
      return system_error == ENOSPC || system_error == EDQUOT ? Code::kNoSpace : Code::kIo;
    default:
      return Code::kInternal;
  }
}

tl::unexpected<Error> failed(sqlite3* handle, int rc) {
  const char* file = handle == nullptr ? nullptr : sqlite3_db_filename(handle, "main");
  std::string where = file == nullptr || *file == '\0' ? "database" : file;
  const Code code = code_of(handle, rc);
  std::string what = handle == nullptr ? sqlite3_errstr(rc) : sqlite3_errmsg(handle);
  if (code == Code::kNoSpace)
    what += "; nothing is lost, make room on this filesystem and it goes on";
  if (code == Code::kCorruption) what += "; `corral store check` says what is damaged";
  return fail(code, where + ": " + what);
}

}  // namespace

// ---- Statement
Result<bool> Statement::step() {
  const int rc = sqlite3_step(handle_);
  if (rc == SQLITE_ROW) return true;
  if (rc == SQLITE_DONE) return false;
  return failed(sqlite3_db_handle(handle_), rc);
}

void Statement::reset() {
  if (handle_ == nullptr) return;
  sqlite3_reset(handle_);
  sqlite3_clear_bindings(handle_);
}

bool Statement::is_null(int column) const {
  return sqlite3_column_type(handle_, column) == SQLITE_NULL;
}
std::int64_t Statement::integer(int column) const { return sqlite3_column_int64(handle_, column); }
double Statement::real(int column) const { return sqlite3_column_double(handle_, column); }

std::string Statement::text(int column) const {
  const unsigned char* text = sqlite3_column_text(handle_, column);
  if (text == nullptr) return {};
  return {reinterpret_cast<const char*>(text),
          static_cast<std::size_t>(sqlite3_column_bytes(handle_, column))};
}

Blob Statement::blob(int column) const {
  const void* data = sqlite3_column_blob(handle_, column);
  if (data == nullptr) return {};
  return {static_cast<const std::uint8_t*>(data),
          static_cast<std::size_t>(sqlite3_column_bytes(handle_, column))};
}

// A failed bind leaves NULL behind, which NOT NULL columns refuse; only lack of memory or a value
// over 1 GB can cause it.
void Statement::bind_integer(int index, std::int64_t value) {
  sqlite3_bind_int64(handle_, index, value);
}
void Statement::bind(int index, double value) { sqlite3_bind_double(handle_, index, value); }
void Statement::bind(int index, std::string_view value) {
  sqlite3_bind_text64(handle_, index, value.data() == nullptr ? "" : value.data(), value.size(),
                      SQLITE_TRANSIENT, SQLITE_UTF8);
}
void Statement::bind(int index, Blob value) {
  static constexpr std::uint8_t kNone = 0;
  sqlite3_bind_blob64(handle_, index, value.empty() ? &kNone : value.data(), value.size(),
                      SQLITE_TRANSIENT);
}
void Statement::bind_null(int index) { sqlite3_bind_null(handle_, index); }

// ---- Connection
void Connection::Close::operator()(sqlite3* handle) const { sqlite3_close(handle); }
void Connection::Finalize::operator()(sqlite3_stmt* handle) const { sqlite3_finalize(handle); }

Result<Connection> Connection::open(const fs::path& file, Mode mode) {
  const int flags =
      mode == Mode::kReadOnly ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
  sqlite3* handle = nullptr;
  // NOMUTEX: the caller sees to it that one thread at a time uses the connection.
  const int rc = sqlite3_open_v2(file.c_str(), &handle, flags | SQLITE_OPEN_NOMUTEX, nullptr);
  Connection connection;
  connection.handle_.reset(handle);
  if (rc != SQLITE_OK) return failed(handle, rc);
  sqlite3_extended_result_codes(handle, 1);
  sqlite3_busy_timeout(handle, 10'000);
  // Memory mapping stays off: a truncated file would be SIGBUS.
  TRY(connection.script("PRAGMA mmap_size = 0; PRAGMA foreign_keys = ON;"));
  if (mode == Mode::kReadWrite) {
    // auto_vacuum counts only before the first table. The automatic checkpoint runs in the
    // committing connection: until SQLite 3.51.3 a checkpoint from another one can race a commit
    // that resets the log, and corrupt the database.
    TRY(connection.script(
        "PRAGMA auto_vacuum = INCREMENTAL; PRAGMA synchronous = FULL; "
        "PRAGMA wal_autocheckpoint = 1000; PRAGMA journal_size_limit = 67108864;"));
  }
  return connection;
}

Result<> Connection::script(const std::string& sql) {
  const int rc = sqlite3_exec(handle_.get(), sql.c_str(), nullptr, nullptr, nullptr);
  if (rc != SQLITE_OK) return failed(handle_.get(), rc);
  return {};
}

Result<Statement> Connection::prepare(std::string_view sql) {
  const auto known = statements_.find(sql);
  if (known != statements_.end()) {
    CORRAL_ASSERT(!sqlite3_stmt_busy(known->second.get()));
    return Statement(known->second.get());
  }
  sqlite3_stmt* handle = nullptr;
  const int rc = sqlite3_prepare_v3(handle_.get(), sql.data(), static_cast<int>(sql.size()),
                                    SQLITE_PREPARE_PERSISTENT, &handle, nullptr);
  if (rc != SQLITE_OK) return failed(handle_.get(), rc);
  statements_.emplace(std::string(sql), handle);
  return Statement(handle);
}

std::int64_t Connection::last_row() const { return sqlite3_last_insert_rowid(handle_.get()); }
bool Connection::in_transaction() const { return sqlite3_get_autocommit(handle_.get()) == 0; }

}  // namespace corral::store::sqlite
