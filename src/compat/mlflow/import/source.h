// Source: a database of MLflow's, or of radT's (which is one), opened to be read.
//
// Tables and columns differ between MLflow's releases: open() checks the required ones, has() tells
// about the others. On PostgreSQL everything is read in one snapshot; an SQLite file is not locked
// between queries, so that its server can go on. One thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "compat/mlflow/wire/times.h"
#include "core/result.h"
#include "core/text.h"
#include "store/engine/database.h"

namespace corral::store::importing {

class Source {
 public:
  // A file, or the URL that MLflow's --backend-store-uri takes: sqlite:///relative,
  // sqlite:////absolute, postgresql://..., postgresql+driver://...
  // kNotFound, kUnsupported (not such a database, or of another engine; names what is missing).
  static Result<Source> open(const std::string& place);

  [[nodiscard]] sql::Connection& db() { return *db_; }
  // A statement that runs while `stop` gives true ends early with an error.
  void stop_when(const std::function<bool()>& stop) { db_->stop_when(stop); }
  [[nodiscard]] std::string name() const { return db_->name(); }
  // The directory that the relative paths of a file's artifacts start from; empty for a server's.
  [[nodiscard]] const std::string& directory() const { return directory_; }
  [[nodiscard]] bool has(std::string_view table) const { return columns_.contains(table); }
  [[nodiscard]] bool has(std::string_view table, std::string_view column) const;

 private:
  Source() = default;
  Result<> read_schema();

  std::unique_ptr<sql::Connection> db_;
  std::string directory_;
  std::map<std::string, std::set<std::string, std::less<>>, std::less<>> columns_;
};

// The rows of one SELECT, which may not fit in memory. One Rows at a time; the source outlives it.
class Rows {
 public:
  // ?1 in the SELECT is `value`.
  static Result<Rows> open(Source& source, const std::string& select, const std::string& value);
  Rows(Rows&& other) noexcept
      : db_(std::exchange(other.db_, nullptr)),
        statement_(std::move(other.statement_)),
        cursor_(other.cursor_),
        on_page_(other.on_page_) {}
  Rows& operator=(Rows&&) = delete;
  ~Rows();
  Result<bool> next();
  [[nodiscard]] const sql::Statement& row() const { return statement_; }

 private:
  Rows(sql::Connection& db, sql::Statement statement, bool cursor)
      : db_(&db), statement_(std::move(statement)), cursor_(cursor) {}

  sql::Connection* db_;
  sql::Statement statement_;
  bool cursor_;  // the database has a cursor: rows come by pages
  std::size_t on_page_ = 0;
};

// ---- its text and times, as the store takes them

// Returns UTF-8 without NUL; invalid bytes become U+FFFD.
inline std::string clean(std::string text) {
  if (!is_utf8(text)) text = to_utf8(text);
  for (std::size_t at = 0; (at = text.find('\0', at)) != std::string::npos;)
    text.replace(at, 1, "\xEF\xBF\xBD");
  return text;
}

// Returns the nearest time that the store can keep.
inline std::int64_t in_range_ms(std::int64_t ms) {
  return std::clamp(ms, mlflow::kFirstClientMs, mlflow::kLastClientMs);
}

}  // namespace corral::store::importing
