// Lays phases of a lane onto tracks on which they nest: a phase lies within the one below it, or
// beside it. Phases that overlap without nesting, as those of asynchronous code do, get tracks of
// their own.
//
// Phases come in order of their begins; if several begin together, the longest comes first. Memory
// grows with the number of open phases. One thread.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace corral::query {

class LaneStacks {
 public:
  // The end of a phase that has none.
  static constexpr std::int64_t kOpen = std::numeric_limits<std::int64_t>::max();

  // The number of its track, from 0; the last one when kMostTracks overlap.
  std::size_t place(std::int64_t start, std::int64_t end) {
    for (std::size_t i = 0; i < tracks_.size(); ++i) {
      auto& ends = tracks_[i];
      while (!ends.empty() && ends.back() <= start) ends.pop_back();
      if (!ends.empty() && ends.back() < end) continue;
      ends.push_back(end);
      return i;
    }
    if (tracks_.size() == kMostTracks) return kMostTracks - 1;
    tracks_.push_back({end});
    return tracks_.size() - 1;
  }

 private:
  static constexpr std::size_t kMostTracks = 256;
  std::vector<std::vector<std::int64_t>> tracks_;  // ends of the open phases, the innermost last
};

}  // namespace corral::query
