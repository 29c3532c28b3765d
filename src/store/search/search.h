// search_runs: the runs that a filter and an order_by of MLflow's mean, a page at a time; and the
// types of every such search.
//
// Free functions over a connection, in the caller's snapshot. Rows of the experiments asked for are
// read compactly, with few statements whose text does not depend on the filter; what the filter and
// the order ask for is read by column and decided in memory (search_rows.h). Filters and orders
// come from mlflow/filter.h, of the matching kind. The results are keys and ids; the complete rows
// are read afterwards. Times compare as Unix milliseconds, as the interface tells them.
#pragma once

#include <fmt/core.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "compat/mlflow/wire/filter.h"
#include "core/ids.h"
#include "core/result.h"
#include "store/engine/keys.h"
#include "store/model/records.h"
#include "store/model/transaction.h"
#include "store/search/experiments.h"
#include "store/search/search_rows.h"

namespace corral::store::tracking {

enum class View : std::uint8_t { kActive, kDeleted, kAll };

// The parts that all searches have.
struct Search {
  std::vector<mlflow::Comparison> filter;
  std::vector<mlflow::Order> orders;
  Paging paging;
};

template <class Key>
struct Found {
  std::vector<Key> rows;
  bool more = false;  // there are rows behind these
};

// The key of a version of a registered model; as sql::CompositeKey of a table with `model` and
// `version`.
struct VersionKey {
  std::string model;
  std::int64_t version = 0;
  auto operator<=>(const VersionKey&) const = default;

  static std::string condition(std::string_view table, std::size_t place) {
    return fmt::format("({0}.model = ?{1} AND {0}.version = ?{2})", table, 2 * place - 1,
                       2 * place);
  }
  void bind(sql::Statement& row, std::size_t place) const {
    row.set(static_cast<int>(2 * place - 1), model);
    row.set(static_cast<int>(2 * place), version);
  }
};

struct RunSearch {
  std::vector<ExperimentId> experiments;  // none: no runs
  View view = View::kActive;
  Search search;
};
// Keys of runs. Without orders, and where these leave it open: the newest first, then by id.
Result<Found<std::int64_t>> search_runs(sql::Reading& reading, const RunSearch& search);

// ---- the rows that a search looks through, as bounds that its statements bind
struct Bounds {
  std::int64_t first = 0, last = 0;
};

inline Bounds lifecycles(View view) {
  // MLflow knows no archive: what is there is active.
  return {view == View::kDeleted ? 1 : -1, view == View::kActive ? 0 : 1};
}

// Experiments one by one while they are few, else all between the first and the last, from which
// the requested ones are picked.
class ExperimentScope {
 public:
  explicit ExperimentScope(std::span<const ExperimentId> experiments) {
    for (const ExperimentId id : experiments) wanted_.insert(id.value);
    if (wanted_.size() > kFew) {
      const auto [first, last] = std::ranges::minmax(wanted_);
      bounds_.push_back({first, last});
    } else {
      for (const std::int64_t id : wanted_) bounds_.push_back({id, id});
    }
  }
  [[nodiscard]] const std::vector<Bounds>& bounds() const { return bounds_; }
  [[nodiscard]] bool contains(std::int64_t experiment) const {
    return wanted_.contains(experiment);
  }

 private:
  static constexpr std::size_t kFew = 16;
  std::unordered_set<std::int64_t> wanted_;
  std::vector<Bounds> bounds_;
};

// Milliseconds of a time or duration in ns, as the interface tells them: cut towards the past.
constexpr std::int64_t whole_ms(std::int64_t ns) {
  constexpr std::int64_t kPerMs = 1'000'000;
  return ns / kPerMs - (ns % kPerMs < 0 ? 1 : 0);
}

// The sum, or the nearest time that fits.
inline std::int64_t later(std::int64_t ns, std::int64_t duration) {
  std::int64_t sum = 0;
  if (!__builtin_add_overflow(ns, duration, &sum)) return sum;
  return duration > 0 ? std::numeric_limits<std::int64_t>::max()
                      : std::numeric_limits<std::int64_t>::min();
}

// Rows by their database key.
template <class Key>
using RowsByKey = std::unordered_map<Key, std::uint32_t>;

// Adds an entry for each row (key, text) whose key is known and whose text is not left out.
enum class Empty { kKeep, kLeaveOut };
template <class Key>
Result<> add_texts(Column& column, sql::Statement& row, const RowsByKey<Key>& rows,
                   Empty empty = Empty::kKeep) {
  while (TRY(row.step())) {
    Key key;
    if constexpr (std::is_same_v<Key, std::string>) {
      key = row.text(0);
    } else {
      key = row.integer(0);
    }
    const auto known = rows.find(key);
    if (known == rows.end()) continue;
    std::string text = row.text(1);
    if (text.empty() && empty == Empty::kLeaveOut) continue;
    column.emplace_back(known->second, std::move(text));
  }
  return {};
}

}  // namespace corral::store::tracking
