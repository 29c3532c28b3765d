// Connection and Statement: the database operations that ingest, reads and the schema need, for
// either engine. sqlite/ and postgres/ implement Connection and Cursor.
//
// A Connection is used by one thread at a time and keeps its prepared statements. A Statement is
// borrowed from that cache: it is reset when destroyed, and the same SQL must not be borrowed twice
// at once. A result of blob() lives until the next step(). Times are bound and read as UTC
// nanoseconds, 128-bit ids as 16-byte blobs. The SQL is the part that SQLite 3.40 and PostgreSQL 15
// share: parameters are ?1, ?2...; a new row's key comes from INSERT ... RETURNING; greatest() and
// least() ignore NULLs; sums of integers are cast to BIGINT (docs/store-schema.md).
#pragma once

#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/ids.h"
#include "core/result.h"
#include "core/time.h"

namespace corral::store::sql {

using Blob = std::span<const std::uint8_t>;
// The bytes of `text`, which must outlive the blob.
inline Blob to_blob(std::string_view text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

enum class Type : std::uint8_t { kInteger, kReal, kText, kBlob };

// One prepared statement of a driver. Parameters count from 1, columns from 0.
class Cursor {
 public:
  virtual ~Cursor() = default;
  virtual void bind_integer(int index, std::int64_t value) = 0;
  virtual void bind_real(int index, double value) = 0;
  virtual void bind_text(int index, std::string_view value) = 0;
  virtual void bind_blob(int index, Blob value) = 0;
  virtual void bind_null(int index, Type type) = 0;
  virtual Result<bool> step() = 0;
  // Runs the statement to its end and ignores its rows. An error may come later, from
  // Connection::flush().
  virtual Result<> defer() {
    while (TRY(step())) {
    }
    return {};
  }
  virtual void reset() = 0;
  [[nodiscard]] virtual bool is_null(int column) const = 0;
  [[nodiscard]] virtual std::int64_t integer(int column) const = 0;
  [[nodiscard]] virtual double real(int column) const = 0;
  [[nodiscard]] virtual std::string text(int column) const = 0;
  [[nodiscard]] virtual Blob blob(int column) const = 0;
};

class Statement {
 public:
  explicit Statement(Cursor& cursor) : cursor_(&cursor) {}
  Statement(Statement&& other) noexcept : cursor_(std::exchange(other.cursor_, nullptr)) {}
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;
  Statement& operator=(Statement&&) = delete;
  ~Statement() {
    if (cursor_ != nullptr) cursor_->reset();
  }

  template <class... Values>
  void bind_all(const Values&... values) {
    int index = 0;
    (bind(++index, values), ...);
  }
  // One parameter, from 1, for statements whose parameters are known only when the program runs.
  template <class T>
  void set(int index, const T& value) {
    bind(index, value);
  }
  // True: a row is there.
  Result<bool> step() { return cursor_->step(); }
  Result<> defer() { return cursor_->defer(); }
  // Ready to be bound and stepped again.
  void reset() { cursor_->reset(); }

  [[nodiscard]] bool is_null(int column) const { return cursor_->is_null(column); }
  [[nodiscard]] std::int64_t integer(int column) const { return cursor_->integer(column); }
  [[nodiscard]] double real(int column) const { return cursor_->real(column); }
  [[nodiscard]] std::string text(int column) const { return cursor_->text(column); }
  [[nodiscard]] Blob blob(int column) const { return cursor_->blob(column); }
  // Valid until the next step().
  [[nodiscard]] std::string_view view(int column) const {
    const Blob bytes = blob(column);
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }
  [[nodiscard]] UtcTime utc(int column) const { return utc_time(integer(column)); }
  template <class Id>
  [[nodiscard]] Id id128(int column) const {
    Id id;
    const Blob bytes = blob(column);
    if (bytes.size() == id.bytes.size()) std::memcpy(id.bytes.data(), bytes.data(), bytes.size());
    return id;
  }
  [[nodiscard]] std::optional<std::int64_t> maybe_integer(int column) const {
    return is_null(column) ? std::nullopt : std::optional(integer(column));
  }
  [[nodiscard]] std::optional<UtcTime> maybe_utc(int column) const {
    return is_null(column) ? std::nullopt : std::optional(utc(column));
  }
  [[nodiscard]] std::optional<double> maybe_real(int column) const {
    return is_null(column) ? std::nullopt : std::optional(real(column));
  }

 private:
  // An empty optional is NULL of its value's type: PostgreSQL wants to know.
  template <class T>
  static constexpr Type type_of() {
    if constexpr (std::is_floating_point_v<T>) return Type::kReal;
    if constexpr (std::is_convertible_v<T, std::string_view>) return Type::kText;
    if constexpr (std::is_convertible_v<T, Blob> || requires(T id) { id.bytes; })
      return Type::kBlob;
    return Type::kInteger;
  }

  void bind(int index, double value) { cursor_->bind_real(index, value); }
  void bind(int index, std::string_view value) { cursor_->bind_text(index, value); }
  void bind(int index, Blob value) { cursor_->bind_blob(index, value); }
  template <class T>
  requires(std::is_integral_v<T> || std::is_enum_v<T>) void bind(int index, T value) {
    cursor_->bind_integer(index, static_cast<std::int64_t>(value));
  }
  void bind(int index, UtcTime value) { cursor_->bind_integer(index, ns_of(value)); }
  template <class Tag>
  void bind(int index, const Id128<Tag>& value) {
    cursor_->bind_blob(index, Blob(value.bytes));
  }
  template <class Tag>
  void bind(int index, NumberId<Tag> value) {
    cursor_->bind_integer(index, value.value);
  }
  template <class T>
  void bind(int index, const std::optional<T>& value) {
    value ? bind(index, *value) : cursor_->bind_null(index, type_of<T>());
  }

  Cursor* cursor_;
};

// The differences between the engines that matter outside of the drivers.
struct Dialect {
  // Other processes write too: cached data of a session is valid only while this process holds the
  // session's row (lock_row), and a group that conflicts with another process's is retried.
  bool shared = false;
  std::string_view begin_write;
  std::string_view begin_read;   // a snapshot
  std::string_view lock_row;     // ends a SELECT of rows that will be changed
  std::string_view lock_schema;  // a statement, empty for none: one migration at a time
  std::string_view elsewhere;    // advice when the database is another program's
  // Table definitions are written for SQLite; each pair holds a word of SQLite and its replacement
  // (docs/store-schema.md).
  std::span<const std::pair<std::string_view, std::string_view>> words;
  // Lines of a migration that start with this are for this engine only.
  std::string_view own_lines;
  // A statement after which the transaction waits only an instant for rows that another one holds.
  // Empty: none is needed.
  std::string_view hurry{};
  // Selects the greatest number that the table {0} has ever given its key {1}; NULL or no row:
  // none.
  std::string_view last_key{};
  // Run after rows were written with given keys: new rows get keys greater than {2} (1 or more).
  std::string_view skip_keys{};
  // Put before a table's name, a statement that gives its space back. Empty: none.
  std::string_view vacuum{};
  // Put before the name of a table, names the table itself and no view that stands before it.
  std::string_view own{};
  // True of a name {0} that begins with a space that Connection::hide() was given, and {1}.
  std::string_view in_hidden_space{};
  // Selects the database's time in ns since 1970. Empty: its clock is this machine's.
  std::string_view clock{};
  // hide() replaces the rows of temp.hidden_spaces (name), and triggers may follow that up.
  bool lists_hidden = false;
};

class Connection {
 public:
  virtual ~Connection() = default;

  [[nodiscard]] virtual const Dialect& dialect() const = 0;
  // The database in words, for messages; never a password.
  [[nodiscard]] virtual std::string name() const = 0;
  // Several statements without parameters or rows.
  virtual Result<> script(const std::string& sql) = 0;
  // False once the engine has ended a transaction by itself (a full disk, an I/O error, a lost
  // connection).
  [[nodiscard]] virtual bool in_transaction() const = 0;
  // True if the last failure was that another process's transaction held a row for longer than this
  // one waits for it.
  [[nodiscard]] virtual bool lock_refused() const { return false; }
  // Reconnects if the connection is lost. Call it outside of a transaction. kUnavailable: not
  // possible now.
  virtual Result<> revive() { return {}; }
  [[nodiscard]] virtual bool alive() const { return true; }
  // Runs a script now, and again whenever the connection was lost and is back, before anything else
  // is read. Call it outside of a transaction.
  virtual Result<> make_ready(const std::string& script) = 0;
  [[nodiscard]] virtual bool was_made_ready() const = 0;
  // Hides these spaces for the rest of the transaction. After sql::put_views_before_tables() alone;
  // kInternal: its views are not in force.
  virtual Result<> hide(const std::vector<std::string>& spaces) = 0;
  // Waits for deferred statements and returns their first error. Every other call does so first.
  virtual Result<> flush() { return {}; }
  virtual Result<bool> has_table(std::string_view table) = 0;
  virtual Result<bool> empty() = 0;  // no tables at all
  // Names of a table's columns, generated ones too; none when there is no such table.
  virtual Result<std::vector<std::string>> columns(std::string_view table) = 0;
  // Size of the database in bytes.
  virtual Result<std::int64_t> bytes() = 0;

  // ---- upkeep (store/maintain)
  // Faults that the engine itself finds in its files; empty: none.
  virtual Result<std::vector<std::string>> integrity() { return std::vector<std::string>(); }
  // Gives free pages back to the filesystem. Call it outside of a transaction, without other users
  // of the database. kNoSpace: there is too little room to do it.
  virtual Result<> give_back_space() { return {}; }
  // A statement that runs while `stop` gives true ends early with an error, where the engine can.
  virtual void stop_when(const std::function<bool()>& /*stop*/) {}
  // Gives some of the free space of deleted rows back to the filesystem, in one short step, and
  // keeps `keep` bytes of it. Call it in a transaction. True: more can be given back.
  virtual Result<bool> reclaim(std::int64_t /*keep*/) { return false; }

  template <class... Values>
  Result<Statement> query(std::string_view sql, const Values&... values) {
    Statement statement(*TRY(prepare(sql)));
    statement.bind_all(values...);
    return statement;
  }
  // Runs one statement to its end and ignores its rows.
  template <class... Values>
  Result<> exec(std::string_view sql, const Values&... values) {
    Statement statement = TRY(query(sql, values...));
    while (TRY(statement.step())) {
    }
    return {};
  }
  // exec() that need not wait for its answer, where the engine has such a thing (PostgreSQL: a
  // pipeline). Statements keep their order; what they break shows at the next call or at flush().
  template <class... Values>
  Result<> defer(std::string_view sql, const Values&... values) {
    Statement statement = TRY(query(sql, values...));
    return statement.defer();
  }
  // The first column of the first row, if there is one.
  template <class... Values>
  Result<std::optional<std::int64_t>> number(std::string_view sql, const Values&... values) {
    Statement statement = TRY(query(sql, values...));
    if (!TRY(statement.step())) return std::nullopt;
    return statement.maybe_integer(0);
  }
  // The first column of every row.
  template <class... Values>
  Result<std::vector<std::int64_t>> numbers(std::string_view sql, const Values&... values) {
    std::vector<std::int64_t> all;
    Statement statement = TRY(query(sql, values...));
    while (TRY(statement.step())) all.push_back(statement.integer(0));
    return all;
  }
  // Ends a transaction that is still open; its writes are lost.
  void roll_back() {
    if (in_transaction()) static_cast<void>(script("ROLLBACK"));
  }

 protected:
  // Lives as long as the connection.
  virtual Result<Cursor*> prepare(std::string_view sql) = 0;
};

// Returns make(row) of every row.
template <class Make, class T = std::invoke_result_t<Make, const Statement&>>
Result<std::vector<T>> read_all(Result<Statement> query, Make&& make) {
  Statement row = TRY(std::move(query));
  std::vector<T> all;
  while (TRY(row.step())) all.push_back(make(row));
  return all;
}
// The same of the first row, if there is one.
template <class Make, class T = std::invoke_result_t<Make, const Statement&>>
Result<std::optional<T>> read_first(Result<Statement> query, Make&& make) {
  Statement row = TRY(std::move(query));
  if (!TRY(row.step())) return std::nullopt;
  return make(row);
}

// Runs `work` in a transaction of its own, which is rolled back after an error.
template <class Work>
Result<> transact(Connection& db, Work&& work) {
  TRY(db.script(std::string(db.dialect().begin_write)));
  Result<> done = work();
  if (done) done = db.script("COMMIT");
  if (!done) db.roll_back();
  return done;
}

}  // namespace corral::store::sql
