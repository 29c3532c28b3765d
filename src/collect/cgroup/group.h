// The control group of a process: where its files are, of v1, v2 or a mix of both.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "collect/cgroup/parse.h"
#include "collect/series.h"
#include "core/result.h"

namespace corral::collect::cgroup {

// Returns false as well if it cannot be looked up.
bool is_there(const std::filesystem::path& path);

// A group's directory and those above it, up to where its hierarchy is mounted.
struct Chain {
  bool unified = false;
  std::string name;
  std::vector<std::filesystem::path> directories;  // the group's own first
  [[nodiscard]] const std::filesystem::path& own() const { return directories.front(); }
};

// Finds the group of a process for each controller.
class Finder {
 public:
  Finder(std::filesystem::path root, pid_t pid);
  // An error when there is none or when it is the root group.
  [[nodiscard]] Result<Chain> find(std::string_view controller) const;
  // As find(), with the error reported under `metrics`.
  std::optional<Chain> find_or_report(std::string_view controller, std::string_view metrics,
                                      SeriesTable& table) const;

 private:
  std::filesystem::path root_;
  std::string error_;
  std::vector<Membership> memberships_;
  std::vector<Mount> mounts_;
};

}  // namespace corral::collect::cgroup
