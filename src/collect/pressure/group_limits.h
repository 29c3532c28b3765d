// GroupLimits: how often the run's control group, or one above it, met a limit: its CPU quota, its
// memory's, and processes killed for want of memory.
//
// The kernel counts these; each rise since the last look is reported. One thread; look() allocates
// only when there is something to tell.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "collect/cgroup/group.h"
#include "collect/proc_file.h"

namespace corral::collect {

class GroupLimits {
 public:
  explicit GroupLimits(const cgroup::Finder& finder);

  [[nodiscard]] bool empty() const { return counters_.empty(); }
  [[nodiscard]] std::size_t size() const { return counters_.size(); }
  // Calls `rose(index, name, by)` for each limit that was met; `index` is below size().
  using Rose = std::function<void(std::size_t index, std::string_view name, std::uint64_t by)>;
  void look(const Rose& rose);

 private:
  struct Counter {
    ProcFile file;
    std::string_view key;
    std::string_view name;
    std::uint64_t last = 0;
  };
  void add(const std::filesystem::path& path, std::string_view key, std::string_view name);
  std::vector<Counter> counters_;
};

}  // namespace corral::collect
