// RowSearch: filters, orders and pages rows by columns that are read only when a filter or an order
// needs them. All of MLflow's searches use it.
//
// Rows are numbers from 0, in the default order. A column has no entry for a row that lacks the
// value (NULL), and several where a row has several (a run's datasets): a comparison holds if it
// holds for one of them, so a row without any never matches but IS NULL. Texts compare by bytes;
// LIKE knows % and _ (one character of UTF-8) and no escape; ILIKE takes ASCII letters of either
// case for the same. NaN differs from every number and equals none; it comes after all numbers, and
// NULL after it, whichever way a column is ordered. One thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "compat/mlflow/wire/filter.h"
#include "core/result.h"

namespace corral::store::tracking {

using Cell = std::variant<std::int64_t, double, std::string>;
struct Entry {
  template <class T>
  Entry(std::uint32_t of_row, T&& value) : row(of_row), cell(std::forward<T>(value)) {}
  std::uint32_t row;
  Cell cell;
};
using Column = std::vector<Entry>;

bool holds(const Cell& cell, const mlflow::Comparison& comparison);
// Linear in the text for each part between two %.
bool like(std::string_view text, std::string_view pattern, bool by_case);

struct Paging {
  std::int64_t offset = 0;
  std::int64_t limit = 1000;
};

class RowSearch {
 public:
  // For an order and for a filter a column may differ (a time in ns, in ms).
  enum class Use : std::uint8_t { kFilter, kOrder };
  struct Field {
    mlflow::Entity entity = mlflow::Entity::kAttribute;
    std::string key;
    Use use = Use::kFilter;
    auto operator<=>(const Field&) const = default;
  };
  // Entries of rows that were filtered out may be omitted.
  using Kept = std::vector<bool>;
  using Read = std::function<Result<Column>(const Field&, const Kept& kept)>;

  RowSearch(std::size_t rows, Read read);
  // Metrics come last, because they cost the most to read.
  Result<> keep(std::span<const mlflow::Comparison> filter);
  void drop(std::uint32_t row) { kept_[row] = false; }
  [[nodiscard]] const Kept& kept() const { return kept_; }

  struct Page {
    std::vector<std::uint32_t> rows;
    bool more = false;  // rows behind these
  };
  Result<Page> page(std::span<const mlflow::Order> orders, const Paging& paging);

 private:
  Result<const Column*> column(const Field& field);
  Result<> keep_one(const mlflow::Comparison& comparison);

  Read read_;
  std::map<Field, Column> columns_;
  Kept kept_;
};

}  // namespace corral::store::tracking
