// Statements over many keys: up to kKeysAtOnce of them at a time, the last places filled by
// repeating a key, so that there are two forms of each statement, for one key and for many.
#pragma once

#include <fmt/core.h>

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "core/result.h"
#include "store/engine/database.h"

namespace corral::store::sql {

inline constexpr std::size_t kKeysAtOnce = 64;

// "(?3, ?4, ?5)": `count` parameters from number `first` on.
inline std::string parameter_list(std::size_t first, std::size_t count) {
  std::string list = "(";
  for (std::size_t i = 0; i < count; ++i)
    list += fmt::format("{}?{}", i == 0 ? "" : ", ", first + i);
  return list + ")";
}

// Binds `count` parameters from number `first` on. `keys` holds 1 to `count`.
template <class Key>
void bind_list(Statement& row, std::size_t first, std::size_t count, std::span<const Key> keys) {
  for (std::size_t i = 0; i < count; ++i)
    row.set(static_cast<int>(first + i), keys[std::min(i, keys.size() - 1)]);
}

// A key of several columns names itself in a condition, and binds itself.
template <class Key>
concept CompositeKey = requires(const Key& key, Statement& row) {
  Key::condition(std::string_view(), std::size_t{1});
  key.bind(row, std::size_t{1});
};

// Runs `query`, in which "{}" stands for the condition on `column` (of a composite key: the table),
// and gives every row to `take`.
template <class Key, class Take>
Result<> for_rows_of(Connection& db, std::string_view query, std::string_view column,
                     std::span<const Key> keys, Take&& take) {
  while (!keys.empty()) {
    const std::size_t places = keys.size() == 1 ? 1 : kKeysAtOnce;
    const auto some = keys.first(std::min(places, keys.size()));
    std::string condition;
    if constexpr (CompositeKey<Key>) {
      for (std::size_t i = 1; i <= places; ++i)
        condition += (i == 1 ? "(" : " OR ") + Key::condition(column, i);
      condition += ")";
    } else {
      condition = fmt::format("{} IN {}", column, parameter_list(1, places));
    }
    Statement row = TRY(db.query(fmt::format(fmt::runtime(query), condition)));
    if constexpr (CompositeKey<Key>) {
      for (std::size_t i = 0; i < places; ++i) some[std::min(i, some.size() - 1)].bind(row, i + 1);
    } else {
      bind_list(row, 1, places, some);
    }
    while (TRY(row.step())) take(row);
    keys = keys.subspan(some.size());
  }
  return {};
}

}  // namespace corral::store::sql
