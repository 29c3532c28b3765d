// A PostgREST query of a table: columns, rows, order, limit.
//
//   ?select=key,value&run_uuid=in.("a","b")&step=gte.10&order=timestamp.desc&limit=100&offset=20
//
// The part of that language that pages use: eq, neq, gt, gte, lt, lte, in, is.null, not. in front
// of each. Pure; any bytes.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/json.h"
#include "core/result.h"
#include "server/core/http_types.h"

namespace corral::server::radt {

using Columns = std::span<const std::string_view>;
using Row = std::vector<Json>;  // a cell per column; null where there is nothing

enum class Test : std::uint8_t { kEqual, kLess, kLessEqual, kGreater, kGreaterEqual, kIn, kNull };
struct Filter {
  std::size_t column = 0;
  Test test = Test::kEqual;
  bool negated = false;
  std::vector<std::string> values;

  // A comparison with null is never true, negated or not.
  [[nodiscard]] bool takes(const Json& cell) const;
};
struct Order {
  std::size_t column = 0;
  bool descending = false;
};

struct ViewQuery {
  std::vector<std::size_t> select;  // columns, in the order wanted
  std::vector<Filter> filters;      // all hold
  std::vector<Order> order;         // NULL is greater than everything, as in PostgreSQL
  std::size_t limit = SIZE_MAX, offset = 0;

  [[nodiscard]] bool takes(const Row& row) const;
  // The values that a column may have; nothing when any may.
  [[nodiscard]] std::optional<std::vector<std::string>> only(std::size_t column) const;
  void sort(std::vector<Row>& rows) const;
};

// kInvalidArgument names the unsupported part.
Result<ViewQuery> parse_view_query(const Pairs& query, Columns columns);

}  // namespace corral::server::radt
