// States of the page under a short id: rows of `views`.
//
// Free functions over the caller's snapshot or transaction. A view is never changed or deleted. Its
// id follows from its state alone, so that shared links stay valid and saving the same state again
// costs nothing. States are checked by the callers.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/result.h"
#include "core/time.h"
#include "store/model/transaction.h"

namespace corral::store::page {

inline constexpr std::size_t kViewIdLength = 8;  // characters of base32: a-z and 2-7

struct View {
  std::string id, state;
  UtcTime created;
};

// The id that the state has, or now gets. Two states whose hashes begin alike get different ids.
Result<std::string> save_view(Writing& writing, const std::string& state, UtcTime now);
Result<std::optional<View>> view(Reading& reading, std::string_view id);

// The attempt-th id of a state, from 0: the first that is free or already the state's is its id.
std::string view_id(const std::string& state, int attempt);

}  // namespace corral::store::page
