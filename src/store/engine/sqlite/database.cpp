#include "store/engine/sqlite/database.h"

#include <fmt/core.h>
#include <sqlite3.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <system_error>
#include <utility>

namespace corral::store::sqlite {
namespace {

namespace fs = std::filesystem;
using sql::Blob;

Code to_code(sqlite3* handle, int rc) {
  const int system_error = sqlite3_system_errno(handle);
  switch (rc & 0xFF) {
    case SQLITE_FULL:
      return Code::kNoSpace;
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return Code::kCorruption;
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
    case SQLITE_INTERRUPT:
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

tl::unexpected<Error> failed(sqlite3* handle, int rc, std::string name = "database") {
  const char* file = handle == nullptr ? nullptr : sqlite3_db_filename(handle, "main");
  const std::string where = file == nullptr || *file == '\0' ? std::move(name) : file;
  const Code code = to_code(handle, rc);
  std::string what = handle == nullptr ? sqlite3_errstr(rc) : sqlite3_errmsg(handle);
  if (code == Code::kNoSpace)
    what += "; nothing is lost, make room on this filesystem and it goes on";
  if (code == Code::kCorruption) what += "; `corral store check` says what is damaged";
  return fail(code, where + ": " + what);
}

// ---- Cursor
class SqliteCursor final : public sql::Cursor {
 public:
  explicit SqliteCursor(sqlite3_stmt* handle) : handle_(handle) {}

  // A failed bind leaves NULL behind, which NOT NULL columns refuse; only lack of memory or a value
  // over 1 GB can cause it.
  void bind_integer(int index, std::int64_t value) override {
    sqlite3_bind_int64(handle_.get(), index, value);
  }
  void bind_real(int index, double value) override {
    sqlite3_bind_double(handle_.get(), index, value);
  }
  void bind_text(int index, std::string_view value) override {
    sqlite3_bind_text64(handle_.get(), index, value.data() == nullptr ? "" : value.data(),
                        value.size(), SQLITE_TRANSIENT, SQLITE_UTF8);
  }
  void bind_blob(int index, Blob value) override {
    static constexpr std::uint8_t kNone = 0;
    sqlite3_bind_blob64(handle_.get(), index, value.empty() ? &kNone : value.data(), value.size(),
                        SQLITE_TRANSIENT);
  }
  void bind_null(int index, sql::Type) override { sqlite3_bind_null(handle_.get(), index); }

  Result<bool> step() override {
    const int rc = sqlite3_step(handle_.get());
    if (rc == SQLITE_ROW) return true;
    if (rc == SQLITE_DONE) return false;
    return failed(sqlite3_db_handle(handle_.get()), rc);
  }
  void reset() override {
    sqlite3_reset(handle_.get());
    sqlite3_clear_bindings(handle_.get());
  }

  [[nodiscard]] bool is_null(int column) const override {
    return sqlite3_column_type(handle_.get(), column) == SQLITE_NULL;
  }
  [[nodiscard]] std::int64_t integer(int column) const override {
    return sqlite3_column_int64(handle_.get(), column);
  }
  [[nodiscard]] double real(int column) const override {
    return sqlite3_column_double(handle_.get(), column);
  }
  [[nodiscard]] std::string text(int column) const override {
    const unsigned char* text = sqlite3_column_text(handle_.get(), column);
    if (text == nullptr) return {};
    return {reinterpret_cast<const char*>(text),
            static_cast<std::size_t>(sqlite3_column_bytes(handle_.get(), column))};
  }
  [[nodiscard]] Blob blob(int column) const override {
    const void* data = sqlite3_column_blob(handle_.get(), column);
    if (data == nullptr) return {};
    return {static_cast<const std::uint8_t*>(data),
            static_cast<std::size_t>(sqlite3_column_bytes(handle_.get(), column))};
  }
  [[nodiscard]] bool busy() const { return sqlite3_stmt_busy(handle_.get()) != 0; }

 private:
  struct Finalize {
    void operator()(sqlite3_stmt* handle) const { sqlite3_finalize(handle); }
  };
  std::unique_ptr<sqlite3_stmt, Finalize> handle_;
};

// ---- functions
// greatest() and least() of numbers; NULLs are ignored.
void extreme(sqlite3_context* context, int count, sqlite3_value** values) {
  const bool greatest = sqlite3_user_data(context) != nullptr;
  sqlite3_value* best = nullptr;
  for (int i = 0; i < count; ++i) {
    sqlite3_value* value = values[i];
    if (sqlite3_value_type(value) == SQLITE_NULL) continue;
    const auto below = [](sqlite3_value* a, sqlite3_value* b) {
      if (sqlite3_value_type(a) == SQLITE_INTEGER && sqlite3_value_type(b) == SQLITE_INTEGER)
        return sqlite3_value_int64(a) < sqlite3_value_int64(b);
      return sqlite3_value_double(a) < sqlite3_value_double(b);
    };
    if (best == nullptr || (greatest ? below(best, value) : below(value, best))) best = value;
  }
  best == nullptr ? sqlite3_result_null(context) : sqlite3_result_value(context, best);
}

int register_functions(sqlite3* handle) {
  static int yes = 1;
  constexpr int kFlags = SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS;
  const int rc = sqlite3_create_function_v2(handle, "greatest", -1, kFlags, &yes, extreme, nullptr,
                                            nullptr, nullptr);
  if (rc != SQLITE_OK) return rc;
  return sqlite3_create_function_v2(handle, "least", -1, kFlags, nullptr, extreme, nullptr, nullptr,
                                    nullptr);
}

constexpr sql::Dialect kDialect = {
    .shared = false,
    .begin_write = "BEGIN IMMEDIATE",
    .begin_read = "BEGIN",
    .lock_row = "",
    .lock_schema = "",
    .elsewhere = "name another directory",
    .words = {},
    .own_lines = "",
    .last_key = "SELECT seq FROM sqlite_sequence WHERE name = '{0}'",
    .skip_keys =
        "INSERT INTO sqlite_sequence (name, seq) SELECT '{0}', 0 WHERE NOT EXISTS (SELECT 1 FROM "
        "sqlite_sequence WHERE name = '{0}'); "
        "UPDATE sqlite_sequence SET seq = max(seq, {2}) WHERE name = '{0}'",
    .own = "main.",
    .in_hidden_space =
        "EXISTS (SELECT 1 FROM temp.hidden_spaces s WHERE substr({0}, 1, "
        "length(s.name) + 1) = s.name || '{1}')",
    .lists_hidden = true,
};

// ---- Connection
class SqliteConnection final : public sql::Connection {
 public:
  Result<> open(const fs::path& file, Mode mode);

  [[nodiscard]] const sql::Dialect& dialect() const override { return kDialect; }
  [[nodiscard]] std::string name() const override { return file_.string(); }
  [[nodiscard]] bool in_transaction() const override {
    return sqlite3_get_autocommit(handle_.get()) == 0;
  }
  Result<> script(const std::string& sql) override {
    const int rc = sqlite3_exec(handle_.get(), sql.c_str(), nullptr, nullptr, nullptr);
    if (rc != SQLITE_OK) return failed(handle_.get(), rc);
    return {};
  }
  Result<> make_ready(const std::string& script) override {
    ready_ = true;
    return this->script(
        "PRAGMA temp_store = MEMORY; CREATE TEMP TABLE hidden_spaces (name TEXT PRIMARY KEY) "
        "WITHOUT ROWID; " +
        script);
  }
  [[nodiscard]] bool was_made_ready() const override { return ready_; }
  Result<> hide(const std::vector<std::string>& spaces) override {
    TRY(exec("DELETE FROM temp.hidden_spaces"));
    for (const std::string& space : spaces)
      TRY(exec("INSERT INTO temp.hidden_spaces (name) VALUES (?1)", space));
    return {};
  }
  Result<bool> has_table(std::string_view table) override {
    return TRY(number("SELECT 1 FROM sqlite_schema WHERE name = ?1 AND type = 'table'", table))
        .has_value();
  }
  Result<bool> empty() override {
    return !TRY(number("SELECT 1 FROM sqlite_schema LIMIT 1")).has_value();
  }
  Result<std::vector<std::string>> columns(std::string_view table) override {
    return sql::read_all(query("SELECT name FROM pragma_table_xinfo(?1)", table),
                         [](const sql::Statement& row) { return row.text(0); });
  }
  Result<std::int64_t> bytes() override {
    std::int64_t bytes = 0;
    for (const char* suffix : {"", "-wal"}) {
      std::error_code error;
      const auto size = fs::file_size(file_.string() + suffix, error);
      if (!error) bytes += static_cast<std::int64_t>(size);
    }
    return bytes;
  }
  Result<bool> reclaim(std::int64_t keep) override;
  Result<std::vector<std::string>> integrity() override;
  Result<> give_back_space() override;
  void stop_when(const std::function<bool()>& stop) override;

 protected:
  Result<sql::Cursor*> prepare(std::string_view sql) override;

 private:
  bool needs_log_index();
  Result<> open_unchanging();

  struct Close {
    void operator()(sqlite3* handle) const { sqlite3_close(handle); }
  };
  fs::path file_;
  std::function<bool()> stop_;
  std::unique_ptr<sqlite3, Close> handle_;
  bool ready_ = false;  // make_ready() was called
  std::map<std::string, std::unique_ptr<SqliteCursor>, std::less<>>
      statements_;  // goes before handle_
};

// A database in WAL mode cannot be read where its directory cannot be written, because SQLite wants
// to keep an index of the log beside it. Without a log the file cannot change, and is read as it
// is.
bool SqliteConnection::needs_log_index() {
  std::error_code error;
  if (fs::exists(file_.string() + "-wal", error)) return false;
  const int rc = sqlite3_exec(handle_.get(), "PRAGMA schema_version", nullptr, nullptr, nullptr);
  return (rc & 0xFF) == SQLITE_CANTOPEN || (rc & 0xFF) == SQLITE_READONLY;
}

Result<> SqliteConnection::open_unchanging() {
  std::string uri = "file:";
  for (const char c : fs::absolute(file_).string()) {
    const bool plain = c == '/' || c == '-' || c == '_' || c == '.' || (c >= '0' && c <= '9') ||
                       (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
    uri += plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  sqlite3* handle = nullptr;
  int rc = sqlite3_open_v2((uri + "?immutable=1").c_str(), &handle,
                           SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX, nullptr);
  handle_.reset(handle);
  if (rc == SQLITE_OK) rc = register_functions(handle);
  return rc == SQLITE_OK ? Result<>() : failed(handle, rc, file_.string());
}

Result<> SqliteConnection::open(const fs::path& file, Mode mode) {
  file_ = file;
  const int flags =
      mode == Mode::kReadOnly ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
  // The pages that a savepoint may have to take back stay in memory up to this size; beyond, each
  // transaction opens a temporary file for it, to which the whole is written at once: SQLite writes
  // less than 128 KiB at a time, and calls the disk full when it is given more. Counts for the
  // process, before its first connection.
  constexpr int kSavepointBytes = 127 << 10;
  static const int configured = sqlite3_config(SQLITE_CONFIG_STMTJRNL_SPILL, kSavepointBytes);
  static_cast<void>(configured);
  sqlite3* handle = nullptr;
  // NOMUTEX: the caller sees to it that one thread at a time uses the connection.
  int rc = sqlite3_open_v2(file.c_str(), &handle, flags | SQLITE_OPEN_NOMUTEX, nullptr);
  handle_.reset(handle);
  if (rc == SQLITE_OK) rc = register_functions(handle);
  if (rc != SQLITE_OK) return failed(handle, rc, file_.string());
  if (mode == Mode::kReadOnly && needs_log_index()) TRY(open_unchanging());
  sqlite3_extended_result_codes(handle_.get(), 1);
  sqlite3_busy_timeout(handle_.get(), 10'000);
  // Memory mapping stays off: a truncated file would be SIGBUS.
  TRY(script("PRAGMA mmap_size = 0; PRAGMA foreign_keys = ON;"));
  if (mode == Mode::kReadOnly) return {};
  // auto_vacuum counts only before the first table. The automatic checkpoint runs in the
  // committing connection: until SQLite 3.51.3 a checkpoint from another one can race a commit
  // that resets the log, and corrupt the database.
  // Some systems' SQLite overwrites what it deletes, by the log: every seal and every removed run
  // would be written once more.
  TRY(script(
      "PRAGMA auto_vacuum = INCREMENTAL; PRAGMA synchronous = FULL; PRAGMA secure_delete = OFF; "
      "PRAGMA wal_autocheckpoint = 1000; PRAGMA journal_size_limit = 67108864;"));
  if (mode == Mode::kRelaxed) return script("PRAGMA synchronous = NORMAL");
  return {};
}

Result<bool> SqliteConnection::reclaim(std::int64_t keep) {
  constexpr std::int64_t kStep = 256;  // pages
  const std::int64_t page = TRY(number("PRAGMA page_size")).value_or(4096);
  const std::int64_t spare = TRY(number("PRAGMA freelist_count")).value_or(0) - keep / page;
  if (spare <= 0) return false;
  TRY(script("PRAGMA incremental_vacuum(" + std::to_string(std::min(spare, kStep)) + ")"));
  return spare > kStep;
}

Result<std::vector<std::string>> SqliteConnection::integrity() {
  std::vector<std::string> found;
  auto row = TRY(query("PRAGMA integrity_check(100)"));
  while (TRY(row.step())) {
    if (row.text(0) != "ok") found.push_back(row.text(0));
  }
  return found;
}

// A store that was made without auto_vacuum is rewritten, which needs space for a second one.
Result<> SqliteConnection::give_back_space() {
  if (TRY(number("PRAGMA auto_vacuum")) == 2) {
    TRY(script("PRAGMA incremental_vacuum"));
  } else {
    std::error_code error;
    const auto room = fs::space(file_, error);
    const auto size = static_cast<std::uintmax_t>(TRY(bytes()));
    if (!error && room.available < size + size / 8)
      return fail(
          Code::kNoSpace,
          file_.string() + ": too little room to write it anew, which takes as much as it has now");
    TRY(script("PRAGMA auto_vacuum = INCREMENTAL; VACUUM"));
  }
  return script("PRAGMA wal_checkpoint(TRUNCATE)");
}

void SqliteConnection::stop_when(const std::function<bool()>& stop) {
  constexpr int kInstructions = 100'000;
  stop_ = stop;
  sqlite3_progress_handler(
      handle_.get(), stop_ ? kInstructions : 0,
      [](void* self) { return static_cast<SqliteConnection*>(self)->stop_() ? 1 : 0; }, this);
}

Result<sql::Cursor*> SqliteConnection::prepare(std::string_view sql) {
  const auto known = statements_.find(sql);
  if (known != statements_.end()) {
    CORRAL_ASSERT(!known->second->busy());
    return known->second.get();
  }
  sqlite3_stmt* handle = nullptr;
  const int rc = sqlite3_prepare_v3(handle_.get(), sql.data(), static_cast<int>(sql.size()),
                                    SQLITE_PREPARE_PERSISTENT, &handle, nullptr);
  if (rc != SQLITE_OK) return failed(handle_.get(), rc);
  return statements_.emplace(std::string(sql), std::make_unique<SqliteCursor>(handle))
      .first->second.get();
}

}  // namespace

Result<std::unique_ptr<sql::Connection>> open_database(const fs::path& file, Mode mode) {
  auto connection = std::make_unique<SqliteConnection>();
  TRY(connection->open(file, mode));
  return connection;
}

}  // namespace corral::store::sqlite
