// SeenIds: ids of what readers who do not see all were found to see within the last second, so that
// calls about one run do not look it up each time. Any thread.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>
#include <unordered_set>

#include "core/guarded.h"
#include "core/time.h"
#include "store/reader.h"

namespace corral::server {

class SeenIds {
 public:
  static constexpr Nanos kLongest = std::chrono::seconds(1);
  static constexpr std::size_t kMost = 10000;

  [[nodiscard]] bool has(const store::Access& access, std::string_view id);
  void add(const store::Access& access, std::string_view id);

  // For tests: acts as if this much time had passed.
  void age(Nanos time);

 private:
  struct Kept {
    std::chrono::steady_clock::time_point since;  // all go at once
    std::unordered_set<std::string> ids;          // each with the spaces that are hidden
  };
  Guarded<Kept> kept_;
};

}  // namespace corral::server
