#include "store/faults/raw_sqlite.h"

#include <sqlite3.h>

#include <memory>

#include "core/result.h"

namespace corral::store::faults {
namespace {

namespace fs = std::filesystem;

using Database = std::unique_ptr<sqlite3, decltype(&sqlite3_close)>;
using Query = std::unique_ptr<sqlite3_stmt, decltype(&sqlite3_finalize)>;

Database open(const fs::path& file) {
  sqlite3* handle = nullptr;
  sqlite3_open_v2(file.c_str(), &handle, SQLITE_OPEN_READWRITE, nullptr);
  return {handle, &sqlite3_close};
}

Query prepare(const Database& database, const std::string& sql) {
  sqlite3_stmt* handle = nullptr;
  sqlite3_prepare_v2(database.get(), sql.c_str(), -1, &handle, nullptr);
  return {handle, &sqlite3_finalize};
}

}  // namespace

std::string integrity_problem(const fs::path& file) {
  const Database database = open(file);
  const Query query = prepare(database, "PRAGMA integrity_check");
  if (!query || sqlite3_step(query.get()) != SQLITE_ROW) return sqlite3_errmsg(database.get());
  const std::string answer = reinterpret_cast<const char*>(sqlite3_column_text(query.get(), 0));
  return answer == "ok" ? "" : answer;
}

std::int64_t number_of(const fs::path& file, const std::string& sql) {
  const Database database = open(file);
  const Query query = prepare(database, sql);
  CORRAL_ASSERT(query && sqlite3_step(query.get()) == SQLITE_ROW);
  return sqlite3_column_int64(query.get(), 0);
}

std::vector<std::vector<std::uint8_t>> blobs(const fs::path& file, const BlobColumn& column) {
  const Database database = open(file);
  const Query query = prepare(database, std::string("SELECT DISTINCT ") + column.column + " FROM " +
                                            column.table + " ORDER BY 1");
  std::vector<std::vector<std::uint8_t>> found;
  while (query && sqlite3_step(query.get()) == SQLITE_ROW) {
    const auto* data = static_cast<const std::uint8_t*>(sqlite3_column_blob(query.get(), 0));
    found.emplace_back(data, data + sqlite3_column_bytes(query.get(), 0));
  }
  return found;
}

void replace_blob(const fs::path& file, const BlobColumn& column,
                  const std::vector<std::uint8_t>& good, const std::vector<std::uint8_t>& damaged) {
  const Database database = open(file);
  const Query query =
      prepare(database, std::string("UPDATE ") + column.table + " SET " + column.column +
                            " = ?2 WHERE " + column.column + " = ?1");
  CORRAL_ASSERT(query != nullptr);
  sqlite3_bind_blob64(query.get(), 1, good.data(), good.size(), SQLITE_STATIC);
  sqlite3_bind_blob64(query.get(), 2, damaged.data(), damaged.size(), SQLITE_STATIC);
  CORRAL_ASSERT(sqlite3_step(query.get()) == SQLITE_DONE);
  CORRAL_ASSERT(sqlite3_changes(database.get()) > 0);
}

}  // namespace corral::store::faults
