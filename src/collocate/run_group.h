// The control group of one run: planned, made with its limits, journalled, removed by undo.h.
//
// Without limits it only counts: it is made only in those hierarchies where a group does not change
// the measured processes (v1: memory, cpuacct unless cpu is mounted with it, freezer, pids; v2:
// cpu.stat, pressure, and memory if that is enabled). Limits add theirs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "collocate/group_tree.h"
#include "collocate/journal.h"
#include "core/result.h"

namespace corral::collocate {

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
  std::string name;                  // name of the directories: "corral-<label>-<8 hex digits>"
  std::vector<GroupParent> parents;  // the groups in which they are made
  GroupLimits limits;
  std::vector<std::string> notes;  // notes for the user

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

// Disables one controller in <group>/cgroup.subtree_control that make_group() has enabled.
Result<> disable_controller(const fs::path& subtree_control, std::string_view name);

}  // namespace corral::collocate
