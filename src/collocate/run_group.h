// The control group of one run: its place on this machine, planned, made with its limits,
// journalled, removed by undo.h.
//
// Without limits it only counts: it is made only in those hierarchies where a group does not change
// the measured processes (v1: memory, cpuacct unless cpu is mounted with it, freezer, pids; v2:
// cpu.stat, pressure, and memory if that is enabled). Limits add theirs.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "collocate/journal/journal.h"
#include "collocate/journal/undo_handler.h"
#include "core/result.h"
#include "sys/file.h"

namespace corral::collocate {

namespace fs = std::filesystem;

// ---- places for Corral's groups, in the hierarchies of v1, the unified one of v2, or both
// (hybrid), as this process sees them

// A directory for Corral's groups in one hierarchy.
struct GroupParent {
  fs::path directory;
  bool unified = false;
  // v1: all controllers that are mounted together ("cpu", "cpuacct"); v2: those of a group below.
  std::vector<std::string> controllers;
  // v2: controllers that must be enabled in `directory` first.
  std::vector<std::string> to_enable{};

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

// ---- plans and limits

struct GroupLimits {
  std::vector<int> cpus{};        // a cpuset; empty: none
  std::vector<int> numa_nodes{};  // memory from these nodes; empty: as the parent
  std::optional<double> cpu_quota{};
  std::optional<std::int64_t> memory_bytes{};  // swap included
  std::optional<int> io_weight{};              // 1 to 1000; the default is 100

  [[nodiscard]] bool any() const {
    return !cpus.empty() || !numa_nodes.empty() || cpu_quota || memory_bytes || io_weight;
  }
};

struct GroupPlan {
  std::string name;                    // name of the directories: "corral-<label>-<8 hex digits>"
  std::vector<GroupParent> parents{};  // the groups in which they are made
  GroupLimits limits;
  std::vector<std::string> notes{};  // notes for the user

  [[nodiscard]] std::vector<fs::path> directories() const;
  // Returns the directories joined by ':', as Seat.cgroup has them.
  [[nodiscard]] std::string target() const;
  [[nodiscard]] std::string words() const;
};

// Changes nothing. The error names every limit that is not available here, with the reason.
Result<GroupPlan> plan_group(const GroupTree& tree, const std::string& label,
                             const GroupLimits& limits);

// Notes the changes of make_group() for all plans, with one wait for the disk.
Result<> note_groups(const std::vector<const GroupPlan*>& plans, Journal& journal);
// Makes a group that is noted. On error the directories made so far are left to the journal.
Result<> make_group(const GroupPlan& plan);

// Moves a process into all directories of a group ("dir:dir").
Result<> enter_group(const std::string& target, pid_t pid);

// ---- undo of the kinds "cgroup" (directories joined by ':') and "subtree-control" (controllers
// enabled in a group of others)

// Ends the remaining processes of the group (freeze, SIGTERM, SIGKILL) and removes it.
Result<bool> put_back_group(const Standing& entry, const UndoOptions& options);
// Returns the run's processes in the group.
std::string users_of_group(const Standing& entry, const UndoOptions& options);
Result<bool> put_back_controllers(const Standing& entry, const UndoOptions& options);

}  // namespace corral::collocate
