// Statements over many keys: up to 64 of them at a time, the last places filled by repeating one,
// so that of each statement there are two forms, for one key and for 64.
#pragma once

#include <fmt/core.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "core/ids.h"
#include "core/result.h"
#include "store/engine/database.h"

namespace corral::store::tracking {

struct VersionKey {
  std::string model;
  std::int64_t version = 0;
  auto operator<=>(const VersionKey&) const = default;
};

namespace detail {

inline constexpr std::size_t kKeysAtOnce = 64;

// place() names a key in a condition, its parameters beginning at `at`; bind_key() binds them.
inline std::string place(std::string_view columns, const std::string& /*key*/, std::size_t at) {
  return fmt::format("{} = ?{}", columns, at);
}
inline int bind_key(sql::Statement& row, int at, const std::string& key) {
  row.set(at, key);
  return at + 1;
}
inline std::string place(std::string_view columns, std::int64_t /*key*/, std::size_t at) {
  return fmt::format("{} = ?{}", columns, at);
}
inline int bind_key(sql::Statement& row, int at, std::int64_t key) {
  row.set(at, key);
  return at + 1;
}
template <class Tag>
std::string place(std::string_view columns, const Id128<Tag>& /*key*/, std::size_t at) {
  return fmt::format("{} = ?{}", columns, at);
}
template <class Tag>
int bind_key(sql::Statement& row, int at, const Id128<Tag>& key) {
  row.set(at, key);
  return at + 1;
}
// `columns`: the table's, which has `model` and `version`.
inline std::string place(std::string_view columns, const VersionKey& /*key*/, std::size_t at) {
  const std::size_t version = 2 * at;
  return fmt::format("({0}.model = ?{1} AND {0}.version = ?{2})", columns, version - 1, version);
}
inline int bind_key(sql::Statement& row, int at, const VersionKey& key) {
  row.set(at, key.model);
  row.set(at + 1, key.version);
  return at + 2;
}

}  // namespace detail

// Runs `query`, "{}" in it being the condition on `columns`, and gives every row to `take`.
template <class Key, class Take>
Result<> for_rows_of(sql::Connection& db, std::string_view query, std::string_view columns,
                     std::span<const Key> keys, Take&& take) {
  while (!keys.empty()) {
    const std::size_t room = keys.size() == 1 ? 1 : detail::kKeysAtOnce;
    std::string condition;
    for (std::size_t i = 1; i <= room; ++i)
      condition += (i == 1 ? "" : " OR ") + detail::place(columns, keys.front(), i);
    sql::Statement row = TRY(db.query(fmt::format(fmt::runtime(query), "(" + condition + ")")));
    const auto some = keys.first(std::min(room, keys.size()));
    int at = 1;
    for (std::size_t i = 0; i < room; ++i)
      at = detail::bind_key(row, at, some[std::min(i, some.size() - 1)]);
    while (TRY(row.step())) take(row);
    keys = keys.subspan(some.size());
  }
  return {};
}

}  // namespace corral::store::tracking
