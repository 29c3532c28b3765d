// Thin owners of SQLite's connection and statement; database.cpp alone includes sqlite3.h.
//
// A Connection is used by one thread at a time and keeps its prepared statements. A Statement is
// borrowed from that cache: it is reset when destroyed, and the same SQL must not be borrowed twice
// at once. What text() and blob() give lives until the next step(). Times are bound and read as UTC
// nanoseconds, 128-bit ids as 16-byte blobs.
#pragma once

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "core/ids.h"
#include "core/result.h"
#include "core/time.h"

struct sqlite3;
struct sqlite3_stmt;

namespace corral::store::sqlite {

namespace fs = std::filesystem;
using Blob = std::span<const std::uint8_t>;

class Statement {
 public:
  explicit Statement(sqlite3_stmt* handle) : handle_(handle) {}
  Statement(Statement&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;
  Statement& operator=(Statement&&) = delete;
  ~Statement() { reset(); }

  template <class... Values>
  void bind_all(const Values&... values) {
    int index = 0;
    (bind(++index, values), ...);
  }
  // True: a row is there.
  Result<bool> step();
  // Ready to be bound and stepped again.
  void reset();

  [[nodiscard]] bool is_null(int column) const;
  [[nodiscard]] std::int64_t integer(int column) const;
  [[nodiscard]] double real(int column) const;
  [[nodiscard]] std::string text(int column) const;
  [[nodiscard]] Blob blob(int column) const;
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
  [[nodiscard]] std::optional<double> maybe_real(int column) const {
    return is_null(column) ? std::nullopt : std::optional(real(column));
  }

 private:
  void bind_integer(int index, std::int64_t value);
  void bind(int index, double value);
  void bind(int index, std::string_view value);
  void bind(int index, Blob value);
  void bind_null(int index);
  template <class T>
  requires(std::is_integral_v<T> || std::is_enum_v<T>) void bind(int index, T value) {
    bind_integer(index, static_cast<std::int64_t>(value));
  }
  void bind(int index, UtcTime value) { bind_integer(index, ns_of(value)); }
  template <class Tag>
  void bind(int index, const Id128<Tag>& value) {
    bind(index, Blob(value.bytes));
  }
  template <class Tag>
  void bind(int index, NumberId<Tag> value) {
    bind_integer(index, value.value);
  }
  template <class T>
  void bind(int index, const std::optional<T>& value) {
    value ? bind(index, *value) : bind_null(index);
  }

  sqlite3_stmt* handle_;
};

class Connection {
 public:
  enum class Mode { kReadWrite, kReadOnly };
  // No memory mapping, synchronous=FULL; a writer makes the file when it is missing (migrate() then
  // turns WAL on).
  static Result<Connection> open(const fs::path& file, Mode mode);
  Connection(Connection&&) = default;
  Connection& operator=(Connection&&) = delete;

  // Several statements without parameters or rows.
  Result<> script(const std::string& sql);
  template <class... Values>
  Result<Statement> query(std::string_view sql, const Values&... values) {
    Statement statement = TRY(prepare(sql));
    statement.bind_all(values...);
    return statement;
  }
  // Runs one statement to its end, rows left aside.
  template <class... Values>
  Result<> exec(std::string_view sql, const Values&... values) {
    Statement statement = TRY(query(sql, values...));
    while (TRY(statement.step())) {
    }
    return {};
  }
  // The first column of the first row, if there is one.
  template <class... Values>
  Result<std::optional<std::int64_t>> number(std::string_view sql, const Values&... values) {
    Statement statement = TRY(query(sql, values...));
    if (!TRY(statement.step())) return std::nullopt;
    return statement.maybe_integer(0);
  }
  [[nodiscard]] std::int64_t last_row() const;
  // False once SQLite has rolled a transaction back by itself (a full disk, an I/O error).
  [[nodiscard]] bool in_transaction() const;

 private:
  Connection() = default;
  struct Close {
    void operator()(sqlite3* handle) const;
  };
  struct Finalize {
    void operator()(sqlite3_stmt* handle) const;
  };
  Result<Statement> prepare(std::string_view sql);

  std::unique_ptr<sqlite3, Close> handle_;
  std::map<std::string, std::unique_ptr<sqlite3_stmt, Finalize>, std::less<>>
      statements_;  // goes before handle_
};

}  // namespace corral::store::sqlite
