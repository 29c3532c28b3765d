// Boards that people saved under a name: rows of `boards`.
//
// Free functions over the caller's snapshot or transaction. A board's `updated` grows with every
// change, even if the clock goes back, so that a client that knows it can detect a later save by
// another one. Names and states are checked by the callers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "core/time.h"
#include "store/model/transaction.h"

namespace corral::store::page {

inline constexpr std::int64_t kMostBoards = 256;

struct Board {
  std::string name, state;
  UtcTime updated;
};

struct BoardChange {
  std::string name, state;
  // The version that the caller believes to be stored; 0: none. Nothing: any.
  std::optional<UtcTime> expected;
};
struct SavedBoard {
  bool saved = false;              // false: it is not what was expected
  std::optional<UtcTime> updated;  // current version; nothing: no such board
};
// kTooLarge: there are kMostBoards.
Result<SavedBoard> save_board(Writing& writing, const BoardChange& change, UtcTime now);
// By name.
Result<std::vector<Board>> boards(Reading& reading);
Result<bool> delete_board(Writing& writing, std::string_view name);

}  // namespace corral::store::page
