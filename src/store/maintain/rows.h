// Rows of any table, page by page in the order of their keys: memory stays at one page whatever
// the driver holds of a result.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/result.h"
#include "store/engine/database.h"
#include "store/maintain/tables.h"

namespace corral::store::maintain {

struct Value {
  bool null = false;
  std::int64_t integer = 0;
  std::string bytes;  // text or blob
};
using Row = std::vector<Value>;

class RowReader {
 public:
  RowReader(sql::Connection& db, const Table& table);
  // Goes on after the row with this key (values of the key's columns).
  void start_after(Row key) { key_ = std::move(key); }
  // The next page; empty at the end.
  Result<std::vector<Row>> next();

 private:
  sql::Connection& db_;
  const Table& table_;
  const std::vector<Column> columns_;
  std::string first_, later_;
  Row key_;
};

// Key of the last row; empty when there is none.
Result<Row> last_key(sql::Connection& db, const Table& table);
// Sets parameter `index` (from 1).
void bind_value(sql::Statement& statement, int index, sql::Type type, const Value& value);
// "a, b, c" of the first `count` columns.
std::string names_of(const std::vector<Column>& columns, std::size_t count,
                     const std::string& suffix = "");
// "?1, ?2, ?3"
std::string parameters(std::size_t count);
// Appends the row as bytes that are the same for every engine.
void append_row(std::string& out, const Row& row);

}  // namespace corral::store::maintain
