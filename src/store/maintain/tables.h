// The tables of a store as data: the tables that a copy reads, and their references
// (engine/schema.cpp makes the tables; a test compares the two). Parents stand before children.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "store/engine/database.h"

namespace corral::store::maintain {

struct Column {
  std::string name;
  sql::Type type = sql::Type::kInteger;
};
struct Table {
  std::string_view name;
  std::string_view columns;  // by spaces; text ends in $, bytes in #, reals in ~; the key's first
  std::size_t keys = 1;
  bool identity = false;  // the engine numbers its rows
  std::size_t page = 0;   // rows that are read at once: a few MiB
};

std::span<const Table> tables();
std::vector<Column> parse_columns(const Table& table);

struct Reference {
  std::string_view table, column, to, key;
  std::string_view unless{};  // condition of rows that may refer to deleted rows
};
std::span<const Reference> references();
// The rows of reference.table that refer to nothing, as a condition.
std::string orphan_condition(const Reference& reference);
// Series whose owner does not exist and is not being removed.
inline constexpr std::string_view kLostSeries =
    "((series.owner_kind = 0 AND NOT EXISTS (SELECT 1 FROM runs r WHERE r.key = series.owner)) OR "
    "(series.owner_kind = 1 AND NOT EXISTS (SELECT 1 FROM workloads w WHERE w.key = series.owner)) "
    "OR (series.owner_kind = 2 AND NOT EXISTS (SELECT 1 FROM hosts h WHERE h.key = series.owner))) "
    "AND NOT EXISTS (SELECT 1 FROM removals d WHERE d.owner_kind = series.owner_kind AND d.owner = "
    "series.owner)";

}  // namespace corral::store::maintain
