// Count: the number of items of one kind in the source, and of those in the store.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace corral::store::importing {

struct Count {
  std::string what;
  std::int64_t source = 0;  // items that cannot be imported are not counted
  std::int64_t stored = 0;  // items of `source` in the store; complete if equal
  std::optional<std::int64_t> added{};
  std::int64_t left_out = 0;           // rows that belong to nothing that is in the store
  std::vector<std::string> missing{};  // the first few, named

  [[nodiscard]] bool complete() const { return stored >= source; }
  // `name()` is asked only when less is there.
  template <class Name>
  void add(std::int64_t wanted, std::int64_t there, Name&& name) {
    constexpr std::size_t kMostNamed = 5;
    source += wanted;
    stored += std::min(wanted, there);
    if (there < wanted && missing.size() < kMostNamed) missing.push_back(name());
  }
};

}  // namespace corral::store::importing
