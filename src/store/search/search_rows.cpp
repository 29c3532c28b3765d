#include "store/search/search_rows.h"

#include <algorithm>
#include <cmath>
#include <compare>
#include <cstddef>
#include <optional>

namespace corral::store::tracking {
namespace {

using mlflow::Comparison;
using mlflow::Operator;
using mlflow::Order;

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

// Bytes of the character at the front.
std::size_t character(std::string_view text) {
  std::size_t bytes = 1;
  while (bytes < text.size() && (static_cast<unsigned char>(text[bytes]) & 0xC0U) == 0x80U) ++bytes;
  return bytes;
}

template <class T>
bool ordered(Operator op, const T& left, const T& right) {
  switch (op) {
    case Operator::kEqual:
      return left == right;
    case Operator::kNotEqual:
      return left != right;
    case Operator::kLess:
      return left < right;
    case Operator::kLessEqual:
      return left <= right;
    case Operator::kGreater:
      return left > right;
    case Operator::kGreaterEqual:
      return left >= right;
    default:
      return false;
  }
}

bool text_holds(const std::string& text, const Comparison& comparison) {
  if (const auto* list = std::get_if<std::vector<std::string>>(&comparison.value)) {
    const bool found = std::ranges::find(*list, text) != list->end();
    return found == (comparison.op == Operator::kIn);
  }
  const auto* value = std::get_if<std::string>(&comparison.value);
  if (value == nullptr) return false;
  if (comparison.op == Operator::kLike) return like(text, *value, true);
  if (comparison.op == Operator::kIlike) return like(text, *value, false);
  return ordered(comparison.op, text, *value);
}

std::optional<double> number(const auto& value) {
  if (const auto* whole = std::get_if<std::int64_t>(&value)) return static_cast<double>(*whole);
  if (const auto* real = std::get_if<double>(&value)) return *real;
  return std::nullopt;
}

bool is_nan(const Cell& cell) {
  const auto* real = std::get_if<double>(&cell);
  return real != nullptr && std::isnan(*real);
}

// Neither is NaN.
std::weak_ordering compare(const Cell& a, const Cell& b) {
  const auto *text_a = std::get_if<std::string>(&a), *text_b = std::get_if<std::string>(&b);
  if (text_a != nullptr && text_b != nullptr) return *text_a <=> *text_b;
  const auto *whole_a = std::get_if<std::int64_t>(&a), *whole_b = std::get_if<std::int64_t>(&b);
  if (whole_a != nullptr && whole_b != nullptr) return *whole_a <=> *whole_b;
  const double left = number(a).value_or(0), right = number(b).value_or(0);
  if (left < right) return std::weak_ordering::less;
  return left > right ? std::weak_ordering::greater : std::weak_ordering::equivalent;
}

struct SortKey {
  std::vector<const Cell*> cells;  // by row; null: NULL
  bool ascending = true;

  // 0: a value, 1: NaN, 2: NULL.
  [[nodiscard]] static int rank(const Cell* cell) {
    if (cell == nullptr) return 2;
    return is_nan(*cell) ? 1 : 0;
  }
  [[nodiscard]] std::weak_ordering operator()(std::uint32_t a, std::uint32_t b) const {
    const Cell *left = cells[a], *right = cells[b];
    const int left_rank = rank(left), right_rank = rank(right);
    if (left_rank != 0 || right_rank != 0) return left_rank <=> right_rank;
    const auto order = compare(*left, *right);
    return ascending ? order : 0 <=> order;
  }
};

SortKey sort_key(const Column& column, std::size_t rows, bool ascending) {
  SortKey key{std::vector<const Cell*>(rows, nullptr), ascending};
  for (const Entry& entry : column) key.cells[entry.row] = &entry.cell;
  return key;
}

}  // namespace

bool like(std::string_view text, std::string_view pattern, bool by_case) {
  std::size_t at = 0, p = 0;
  // Behind the last %, and where in the text the rest of the pattern was tried last.
  std::size_t behind_any = std::string_view::npos, tried = 0;
  while (at < text.size()) {
    const bool any = p < pattern.size() && pattern[p] == '%';
    if (any) {
      behind_any = ++p;
      tried = at;
      continue;
    }
    if (p < pattern.size() && pattern[p] == '_') {
      at += character(text.substr(at));
      ++p;
      continue;
    }
    if (p < pattern.size() &&
        (by_case ? text[at] == pattern[p] : lower(text[at]) == lower(pattern[p]))) {
      ++at;
      ++p;
      continue;
    }
    if (behind_any == std::string_view::npos) return false;
    tried += character(text.substr(tried));
    at = tried;
    p = behind_any;
  }
  return pattern.find_first_not_of('%', p) == std::string_view::npos;
}

bool holds(const Cell& cell, const Comparison& comparison) {
  if (comparison.op == Operator::kIsNull) return false;
  if (comparison.op == Operator::kIsNotNull) return true;
  if (const auto* text = std::get_if<std::string>(&cell)) return text_holds(*text, comparison);
  const auto* whole = std::get_if<std::int64_t>(&cell);
  const auto* wanted = std::get_if<std::int64_t>(&comparison.value);
  if (whole != nullptr && wanted != nullptr) return ordered(comparison.op, *whole, *wanted);
  const auto left = number(cell), right = number(comparison.value);
  return left && right && ordered(comparison.op, *left, *right);
}

RowSearch::RowSearch(std::size_t rows, Read read) : read_(std::move(read)), kept_(rows, true) {}

Result<const Column*> RowSearch::column(const Field& field) {
  const auto known = columns_.find(field);
  if (known != columns_.end()) return &known->second;
  return &columns_.emplace(field, TRY(read_(field, kept_))).first->second;
}

Result<> RowSearch::keep_one(const Comparison& comparison) {
  const Column& entries =
      *TRY(column({.entity = comparison.entity, .key = comparison.key, .use = Use::kFilter}));
  const bool absent = comparison.op == Operator::kIsNull;
  Kept matches(kept_.size(), absent);
  for (const Entry& entry : entries) {
    if (absent) {
      matches[entry.row] = false;
    } else if (kept_[entry.row] && holds(entry.cell, comparison)) {
      matches[entry.row] = true;
    }
  }
  for (std::size_t row = 0; row < kept_.size(); ++row) kept_[row] = kept_[row] && matches[row];
  return {};
}

Result<> RowSearch::keep(std::span<const Comparison> filter) {
  for (const bool metrics : {false, true}) {
    for (const Comparison& comparison : filter) {
      if ((comparison.entity == mlflow::Entity::kMetric) == metrics) TRY(keep_one(comparison));
    }
  }
  return {};
}

Result<RowSearch::Page> RowSearch::page(std::span<const Order> orders, const Paging& paging) {
  std::vector<SortKey> keys;
  for (const Order& order : orders) {
    const Column& entries =
        *TRY(column({.entity = order.entity, .key = order.key, .use = Use::kOrder}));
    keys.push_back(sort_key(entries, kept_.size(), order.ascending));
  }
  std::vector<std::uint32_t> rows;
  for (std::uint32_t row = 0; row < kept_.size(); ++row) {
    if (kept_[row]) rows.push_back(row);
  }
  const auto before = [&](std::uint32_t a, std::uint32_t b) {
    for (const SortKey& key : keys) {
      if (const auto order = key(a, b); order != 0) return order < 0;
    }
    return a < b;
  };
  const std::size_t first = std::min(rows.size(), static_cast<std::size_t>(paging.offset));
  const std::size_t count = std::min(rows.size() - first, static_cast<std::size_t>(paging.limit));
  const auto end = rows.begin() + static_cast<std::ptrdiff_t>(first + count);
  if (!keys.empty()) std::partial_sort(rows.begin(), end, rows.end(), before);
  return Page{.rows = {rows.begin() + static_cast<std::ptrdiff_t>(first), end},
              .more = end != rows.end()};
}

}  // namespace corral::store::tracking
