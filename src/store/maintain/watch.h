// Watch: reports the progress of long work on a whole store, and lets the caller stop it.
//
// The caller keeps it alive; both functions are called from the thread that works, often.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "core/result.h"

namespace corral::store::maintain {

struct Watch {
  // `total` 0: not known. May be empty.
  std::function<void(std::string_view what, std::int64_t done, std::int64_t total)> tell;
  // True: give up as soon as everything is in order. May be empty.
  std::function<bool()> stop;

  // kUnavailable when asked to stop.
  [[nodiscard]] Result<> at(std::string_view what, std::int64_t done, std::int64_t total) const {
    if (tell) tell(what, done, total);
    if (stop && stop()) return fail(Code::kUnavailable, "interrupted");
    return {};
  }
};

}  // namespace corral::store::maintain
