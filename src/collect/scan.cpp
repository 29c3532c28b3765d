#include "collect/scan.h"

#include "core/result.h"

namespace corral::collect {
namespace {

// Looks at keys[next] first, then at the others in turn; keys.size() when none is `word`.
std::size_t find_key(std::string_view word, std::span<const std::string_view> keys,
                     std::size_t next) {
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const std::size_t at = next + i < keys.size() ? next + i : next + i - keys.size();
    if (keys[at] == word) return at;
  }
  return keys.size();
}

}  // namespace

std::uint32_t find_values(std::string_view text, std::span<const std::string_view> keys,
                          std::span<std::uint64_t> values) {
  CORRAL_ASSERT(keys.size() <= 32 && keys.size() == values.size());
  std::uint32_t found = 0;
  std::size_t next = 0;
  std::size_t left = keys.size();
  for (Scanner scan(text); !scan.done() && left > 0; scan.line()) {
    const std::size_t at = find_key(scan.word(':'), keys, next);
    if (at == keys.size()) continue;
    scan.skip(':');
    if ((found >> at & 1u) != 0 || !scan.number(values[at])) continue;
    found |= 1u << at;
    next = at + 1 < keys.size() ? at + 1 : 0;
    --left;
  }
  return found;
}

}  // namespace corral::collect
