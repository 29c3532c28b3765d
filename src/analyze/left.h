// Left: asks an analysis that takes long whether anybody still waits for it.
#pragma once

#include <functional>

#include "core/result.h"

namespace corral::analyze {

// True: nobody waits for the answer, so it may end early with kUnavailable. May be empty.
using Left = std::function<bool()>;

inline Result<> check_waiting(const Left& left) {
  if (!left || !left()) return {};
  return fail(Code::kUnavailable, "nobody waits for the answer any more");
}

}  // namespace corral::analyze
