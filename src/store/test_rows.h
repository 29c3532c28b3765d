// The rows of a store that a reader sees, as text, for tests that nothing of them changed.
#pragma once

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "store/engine/database.h"
#include "store/engine/views.h"
#include "store/maintain/tables.h"
#include "store/reader.h"

namespace corral::store {

// Rows of the tables that have views before them (engine/views.h). SQLite only.
inline std::string rows_seen_by(const Reader& reader) {
  std::string rows;
  const auto done = reader.inspect([&](Reading& reading) -> Result<> {
    const auto behind = sql::tables_behind_views();
    for (const maintain::Table& table : maintain::tables()) {
      if (std::ranges::find(behind, table.name) == behind.end()) continue;
      std::string columns;
      for (const auto& column : maintain::parse_columns(table))
        columns += (columns.empty() ? "" : " || ',' || ") + fmt::format("quote({})", column.name);
      sql::Statement row =
          TRY(reading->query(fmt::format("SELECT {0} FROM {1} ORDER BY {0}", columns, table.name)));
      while (TRY(row.step())) rows += std::string(table.name) + ": " + row.text(0) + "\n";
    }
    return {};
  });
  EXPECT_TRUE(done) << done.error().message;
  return rows;
}

}  // namespace corral::store
