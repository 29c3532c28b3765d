// The rows that a search looks through, as bounds that its statements bind. Used by search_*.cpp.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "core/ids.h"
#include "store/search/search.h"

namespace corral::store::tracking {

struct Bounds {
  std::int64_t first = 0, last = 0;
};

inline Bounds lifecycles(View view) {
  return {view == View::kDeleted ? 1 : 0, view == View::kActive ? 0 : 1};
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
