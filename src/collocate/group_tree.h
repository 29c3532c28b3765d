// GroupTree: finds the places for Corral's groups on this machine, in the hierarchies of v1, the
// unified one of v2, or both (hybrid), as this process sees them. Reads only.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "sys/file.h"

namespace corral::collocate {

namespace fs = std::filesystem;

// A directory for Corral's groups in one hierarchy.
struct GroupParent {
  fs::path directory;
  bool unified = false;
  // v1: all controllers that are mounted together ("cpu", "cpuacct"); v2: those of a group below.
  std::vector<std::string> controllers;
  // v2: controllers that must be enabled in `directory` first.
  std::vector<std::string> to_enable;

  [[nodiscard]] bool has(std::string_view controller) const;
};

class GroupTree {
 public:
  // Reads the groups of the calling process; the error explains why there are no control groups.
  static Result<GroupTree> read(const fs::path& root);

  // Returns the parent of a v1 controller's groups: below the process's own group.
  [[nodiscard]] std::optional<GroupParent> legacy(std::string_view controller) const;
  // v2: returns the nearest place whose groups have all of `required`, without a change of a group
  // of others; if there is none, the topmost place with `to_enable` that this user may change.
  [[nodiscard]] std::optional<GroupParent> unified(std::span<const std::string> required) const;
  // v2: returns a place where a group counts and changes nothing: it has no controller that divides
  // time (cpu, io), and the process keeps the limits of its own group.
  [[nodiscard]] std::optional<GroupParent> unified_to_count() const;
  // Returns true if v2 has this controller, here or anywhere above.
  [[nodiscard]] bool has_unified(std::string_view controller) const;
  // Returns the process's own group for the controller, to which the limits above apply. Empty:
  // none.
  [[nodiscard]] fs::path own(std::string_view controller) const;

 private:
  struct Legacy {
    std::vector<std::string> controllers;
    fs::path own;
  };
  std::vector<Legacy> legacy_;
  std::vector<fs::path> chain_;  // v2: own group first, the mount point last
};

// Returns true if a group of v2 has no limit of its own.
bool is_unlimited(const fs::path& group);
// True if this user may make a group there.
bool may_make_group(const fs::path& parent);

}  // namespace corral::collocate
