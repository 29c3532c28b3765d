#include "compat/radt/api/view_query.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <compare>
#include <numeric>

#include "core/text.h"

namespace corral::server::radt {
namespace {

struct Operator {
  std::string_view name;
  Test test;
  bool negated = false;
};
constexpr std::array kOperators = {
    Operator{"eq", Test::kEqual},   Operator{"neq", Test::kEqual, true},
    Operator{"lt", Test::kLess},    Operator{"lte", Test::kLessEqual},
    Operator{"gt", Test::kGreater}, Operator{"gte", Test::kGreaterEqual},
    Operator{"in", Test::kIn},      Operator{"is", Test::kNull},
};

std::partial_ordering compare(const Json& cell, const std::string& value) {
  if (const std::string* text = cell.as_string()) return *text <=> value;
  if (const std::int64_t* number = cell.as_int()) {
    if (const auto other = parse_int(value)) return *number <=> *other;
  }
  const auto other = parse_double(value);
  return other ? cell.as_double(0) <=> *other : std::partial_ordering::unordered;
}

std::partial_ordering compare(const Json& a, const Json& b) {
  if (a.is_null() || b.is_null()) return a.is_null() <=> b.is_null();
  if (a.as_string() != nullptr && b.as_string() != nullptr)
    return *a.as_string() <=> *b.as_string();
  if (a.as_int() != nullptr && b.as_int() != nullptr) return *a.as_int() <=> *b.as_int();
  return a.as_double(0) <=> b.as_double(0);
}

tl::unexpected<Error> bad(std::string message) {
  return corral::fail(Code::kInvalidArgument, std::move(message));
}

Result<std::size_t> find_column(std::string_view name, Columns columns) {
  const auto found = std::ranges::find(columns, name);
  if (found == columns.end()) return bad(fmt::format("there is no column '{}'", to_utf8(name)));
  return static_cast<std::size_t>(found - columns.begin());
}

// (a,"b, c") with \ before a quote or backslash inside quotes.
Result<std::vector<std::string>> parse_list(std::string_view text) {
  if (!text.starts_with('(') || !text.ends_with(')') || text.size() < 2)
    return bad("expected a list: in.(a,b)");
  text = text.substr(1, text.size() - 2);
  std::vector<std::string> values;
  if (text.empty()) return values;
  values.emplace_back();
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted && c == '\\' && i + 1 < text.size()) {
      values.back() += text[++i];
    } else if (c == '"') {
      quoted = !quoted;
    } else if (c == ',' && !quoted) {
      values.emplace_back();
    } else {
      values.back() += c;
    }
  }
  if (quoted) return bad("a quote is open in a list");
  return values;
}

Result<Filter> parse_filter(std::size_t column, std::string_view text) {
  Filter filter{.column = column, .values = {}};
  const bool inverted = text.starts_with("not.");
  if (inverted) text.remove_prefix(4);
  const std::size_t dot = text.find('.');
  const auto* const known = std::ranges::find(kOperators, text.substr(0, dot), &Operator::name);
  if (dot == std::string_view::npos || known == kOperators.end()) {
    return bad(
        fmt::format("'{}' is none of eq, neq, lt, lte, gt, gte, in, is with a value behind a "
                    "point",
                    to_utf8(text)));
  }
  const std::string_view value = text.substr(dot + 1);
  filter.test = known->test;
  filter.negated = known->negated != inverted;
  if (filter.test == Test::kNull && value != "null") return bad("is. knows null only");
  if (filter.test == Test::kIn) {
    filter.values = TRY(parse_list(value));
  } else {
    filter.values.emplace_back(value);
  }
  return filter;
}

Result<std::vector<std::size_t>> parse_select(std::string_view text, Columns columns) {
  std::vector<std::size_t> select;
  for (const std::string_view name : split(text, ',')) {
    if (trim(name) == "*") {
      for (std::size_t i = 0; i < columns.size(); ++i) select.push_back(i);
    } else {
      select.push_back(TRY(find_column(trim(name), columns)));
    }
  }
  return select;
}

Result<std::vector<Order>> parse_order(std::string_view text, Columns columns) {
  std::vector<Order> order;
  for (const std::string_view term : split(text, ',')) {
    const std::size_t dot = term.find('.');
    const std::string_view way = dot == std::string_view::npos ? "asc" : term.substr(dot + 1);
    if (way != "asc" && way != "desc")
      return bad(fmt::format("'{}' is neither asc nor desc", to_utf8(way)));
    order.push_back({.column = TRY(find_column(trim(term.substr(0, dot)), columns)),
                     .descending = way == "desc"});
  }
  return order;
}

Result<std::size_t> parse_count(std::string_view name, std::string_view text) {
  const auto count = parse_int(text);
  if (!count || *count < 0) return bad(fmt::format("{} wants a number of rows", name));
  return static_cast<std::size_t>(*count);
}

}  // namespace

bool Filter::takes(const Json& cell) const {
  if (test == Test::kNull) return cell.is_null() != negated;
  if (cell.is_null()) return false;
  const auto is = [&](const std::string& value) {
    const std::partial_ordering order = compare(cell, value);
    switch (test) {
      case Test::kLess:
        return order < 0;
      case Test::kLessEqual:
        return order <= 0;
      case Test::kGreater:
        return order > 0;
      case Test::kGreaterEqual:
        return order >= 0;
      default:
        return order == 0;
    }
  };
  return std::ranges::any_of(values, is) != negated;
}

bool ViewQuery::takes(const Row& row) const {
  return std::ranges::all_of(
      filters, [&](const Filter& filter) { return filter.takes(row[filter.column]); });
}

std::optional<std::vector<std::string>> ViewQuery::only(std::size_t column) const {
  for (const Filter& filter : filters) {
    const bool names = filter.test == Test::kEqual || filter.test == Test::kIn;
    if (filter.column == column && names && !filter.negated) return filter.values;
  }
  return std::nullopt;
}

void ViewQuery::sort(std::vector<Row>& rows) const {
  std::ranges::stable_sort(rows, [&](const Row& a, const Row& b) {
    for (const Order& by : order) {
      const auto way = compare(a[by.column], b[by.column]);
      if (way != 0) return by.descending ? way > 0 : way < 0;
    }
    return false;
  });
}

Result<ViewQuery> parse_view_query(const Pairs& query, Columns columns) {
  ViewQuery wanted;
  for (const auto& [name, value] : query) {
    if (name == "select") {
      wanted.select = TRY(parse_select(value, columns));
    } else if (name == "order") {
      wanted.order = TRY(parse_order(value, columns));
    } else if (name == "limit") {
      wanted.limit = TRY(parse_count(name, value));
    } else if (name == "offset") {
      wanted.offset = TRY(parse_count(name, value));
    } else {
      const std::size_t column = TRY(find_column(name, columns));
      wanted.filters.push_back(TRY(parse_filter(column, value)));
    }
  }
  if (wanted.select.empty()) {
    wanted.select.resize(columns.size());
    std::iota(wanted.select.begin(), wanted.select.end(), std::size_t{0});
  }
  return wanted;
}

}  // namespace corral::server::radt
