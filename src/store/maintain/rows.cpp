#include "store/maintain/rows.h"

#include <fmt/core.h>

#include <algorithm>
#include <bit>

namespace corral::store::maintain {
namespace {

Value value_at(const sql::Statement& row, int column, sql::Type type) {
  Value value;
  value.null = row.is_null(column);
  if (value.null) return value;
  if (type == sql::Type::kInteger) {
    value.integer = row.integer(column);
  } else if (type == sql::Type::kReal) {
    value.integer = std::bit_cast<std::int64_t>(row.real(column));
  } else if (type == sql::Type::kText) {
    value.bytes = row.text(column);
  } else {
    const sql::Blob blob = row.blob(column);
    value.bytes.assign(blob.begin(), blob.end());
  }
  return value;
}

Row row_at(const sql::Statement& row, const std::vector<Column>& columns, std::size_t count) {
  Row values;
  values.reserve(count);
  for (std::size_t i = 0; i < count; ++i)
    values.push_back(value_at(row, static_cast<int>(i), columns[i].type));
  return values;
}

void append_number(std::string& out, std::uint64_t number) {
  for (int shift = 0; shift < 64; shift += 8) out += static_cast<char>(number >> shift & 0xFF);
}

}  // namespace

std::string names_of(const std::vector<Column>& columns, std::size_t count,
                     const std::string& suffix) {
  std::string names;
  for (std::size_t i = 0; i < count; ++i) names += (i == 0 ? "" : ", ") + columns[i].name + suffix;
  return names;
}

std::string parameters(std::size_t count) {
  std::string list;
  for (std::size_t i = 1; i <= count; ++i) list += fmt::format("{}?{}", i == 1 ? "" : ", ", i);
  return list;
}

void bind_value(sql::Statement& statement, int index, sql::Type type, const Value& value) {
  if (type == sql::Type::kInteger) {
    statement.set(index, value.null ? std::nullopt : std::optional(value.integer));
  } else if (type == sql::Type::kReal) {
    statement.set(index,
                  value.null ? std::nullopt : std::optional(std::bit_cast<double>(value.integer)));
  } else if (type == sql::Type::kText) {
    statement.set(index, value.null ? std::nullopt : std::optional<std::string_view>(value.bytes));
  } else {
    const sql::Blob blob(reinterpret_cast<const std::uint8_t*>(value.bytes.data()),
                         value.bytes.size());
    statement.set(index, value.null ? std::nullopt : std::optional(blob));
  }
}

void append_row(std::string& out, const Row& row) {
  for (const Value& value : row) {
    out += value.null ? '\0' : '\1';
    append_number(out, static_cast<std::uint64_t>(value.integer));
    append_number(out, value.bytes.size());
    out += value.bytes;
  }
}

RowReader::RowReader(sql::Connection& db, const Table& table)
    : db_(db), table_(table), columns_(columns_of(table)) {
  const std::string keys = names_of(columns_, table.keys);
  const std::string select =
      fmt::format("SELECT {} FROM {}", names_of(columns_, columns_.size()), table.name);
  const std::string tail = fmt::format(" ORDER BY {} LIMIT {}", keys, table.page);
  first_ = select + tail;
  later_ = fmt::format("{} WHERE ({}) > ({}){}", select, keys, parameters(table.keys), tail);
}

Result<std::vector<Row>> RowReader::next() {
  sql::Statement row = TRY(db_.query(key_.empty() ? first_ : later_));
  for (std::size_t i = 0; i < key_.size(); ++i)
    bind_value(row, static_cast<int>(i + 1), columns_[i].type, key_[i]);
  std::vector<Row> rows;
  while (TRY(row.step())) rows.push_back(row_at(row, columns_, columns_.size()));
  if (!rows.empty()) {
    const auto end = rows.back().begin() + static_cast<std::ptrdiff_t>(table_.keys);
    key_.assign(rows.back().begin(), end);
  }
  return rows;
}

Result<Row> last_key(sql::Connection& db, const Table& table) {
  const auto columns = columns_of(table);
  sql::Statement row = TRY(
      db.query(fmt::format("SELECT {} FROM {} ORDER BY {} LIMIT 1", names_of(columns, table.keys),
                           table.name, names_of(columns, table.keys, " DESC"))));
  if (!TRY(row.step())) return Row();
  return row_at(row, columns, table.keys);
}

}  // namespace corral::store::maintain
