// Text and times of a foreign database, as the store takes them. Pure.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

#include "compat/mlflow/wire/times.h"
#include "core/text.h"

namespace corral::store::importing {

// Returns UTF-8 without NUL; invalid bytes become U+FFFD.
inline std::string clean(std::string text) {
  if (!is_utf8(text)) text = to_utf8(text);
  for (std::size_t at = 0; (at = text.find('\0', at)) != std::string::npos;)
    text.replace(at, 1, "\xEF\xBF\xBD");
  return text;
}

// Returns the nearest time that the store can keep.
inline std::int64_t in_range_ms(std::int64_t ms) {
  return std::clamp(ms, mlflow::kFirstClientMs, mlflow::kLastClientMs);
}

}  // namespace corral::store::importing
