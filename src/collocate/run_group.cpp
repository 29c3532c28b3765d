#include "collocate/run_group.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>

#include "collocate/cpu_list.h"
#include "collocate/group_files.h"
#include "core/failpoint.h"
#include "core/ids.h"
#include "core/text.h"

namespace corral::collocate {
namespace {

constexpr std::int64_t kPeriodUs = 100'000;
constexpr std::int64_t kLeastQuotaUs = 1'000;  // the kernel's
constexpr std::size_t kLongestLabel = 60;

// The controllers of a limit, and its name.
struct Need {
  const char* legacy;   // v1's controller
  const char* unified;  // v2's
  const char* words;
};
constexpr Need kCpuset{"cpuset", "cpuset", "CPU set"};
constexpr Need kQuota{"cpu", "cpu", "CPU quota"};
constexpr Need kMemory{"memory", "memory", "memory limit"};
constexpr Need kIo{"blkio", "io", "IO weight"};
// Controllers of v1 that only count.
constexpr auto kCounting = {"memory", "cpuacct", "freezer", "pids"};

std::vector<Need> needs_of(const GroupLimits& limits) {
  std::vector<Need> needs;
  if (!limits.cpus.empty() || !limits.numa_nodes.empty()) needs.push_back(kCpuset);
  if (limits.cpu_quota) needs.push_back(kQuota);
  if (limits.memory_bytes) needs.push_back(kMemory);
  if (limits.io_weight) needs.push_back(kIo);
  return needs;
}

std::string name_of(const std::string& label) {
  std::string name(kGroupPrefix);
  for (const char c : label.substr(0, kLongestLabel)) {
    const bool plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    name += plain || c == '-' || c == '_' ? c : '_';
  }
  return name + "-" + SessionId::random().hex().substr(0, 8);
}

void add(std::vector<GroupParent>& parents, GroupParent parent) {
  const bool there = std::ranges::any_of(
      parents, [&](const GroupParent& other) { return other.directory == parent.directory; });
  if (!there) parents.push_back(std::move(parent));
}

// Adds the counting controllers, on a best-effort basis.
void add_counting(const GroupTree& tree, std::vector<GroupParent>& parents) {
  for (const char* controller : kCounting) {
    auto parent = tree.legacy(controller);
    // With "cpu" a group would get a share of the CPU time as a group, beside others.
    if (parent && !parent->has("cpu") && !parent->has("blkio") && !parent->has("cpuset") &&
        may_make_group(parent->directory))
      add(parents, *std::move(parent));
  }
  const bool has_unified = std::ranges::any_of(parents, &GroupParent::unified);
  if (has_unified) return;
  if (auto parent = tree.unified_to_count()) add(parents, *std::move(parent));
}

// Adds a group of v1, if one of its hierarchies has the controller; else appends the reason why
// not.
bool add_legacy(const GroupTree& tree, const Need& need, GroupPlan& plan,
                std::vector<std::string>& problems) {
  auto parent = tree.legacy(need.legacy);
  if (!parent) return false;
  if (may_make_group(parent->directory)) {
    add(plan.parents, *std::move(parent));
  } else {
    problems.push_back(
        fmt::format("{}: making a group in {} needs root", need.words, parent->directory.string()));
  }
  return true;
}

void add_unified(const GroupTree& tree, const std::vector<Need>& needs, GroupPlan& plan,
                 std::vector<std::string>& problems) {
  std::vector<std::string> required;
  for (const Need& need : needs) {
    if (tree.has_unified(need.unified)) {
      required.emplace_back(need.unified);
    } else {
      problems.push_back(fmt::format("{}: this kernel has no control group for it", need.words));
    }
  }
  if (required.empty()) return;
  auto parent = tree.unified(required);
  if (!parent) {
    for (const Need& need : needs)
      problems.push_back(
          fmt::format("{}: making a control group needs root, or a group of v2 that "
                      "is delegated to this user with '{}' enabled",
                      need.words, need.unified));
    return;
  }
  const fs::path own = tree.own("");
  if (parent->directory != own && !is_unlimited(own))
    plan.notes.push_back("limits of this process's own control group do not hold for the run");
  add(plan.parents, *std::move(parent));
}

const GroupParent* parent_for(const GroupPlan& plan, const Need& need) {
  for (const GroupParent& parent : plan.parents) {
    if (parent.has(parent.unified ? need.unified : need.legacy)) return &parent;
  }
  return nullptr;
}

Result<> write_cpuset(const GroupPlan& plan, const GroupParent& parent) {
  const GroupLimits& limits = plan.limits;
  const fs::path group = parent.directory / plan.name;
  // v1 takes no process before both files are set; a new group of v2 inherits its parent's.
  const bool all = !parent.unified;
  const auto of_parent = [&](const char* file) { return read_control(parent.directory / file); };
  if (all || !limits.cpus.empty()) {
    const std::string cpus =
        limits.cpus.empty() ? of_parent("cpuset.cpus") : format_cpus(limits.cpus);
    TRY(write_control(group / "cpuset.cpus", cpus));
  }
  if (all || !limits.numa_nodes.empty()) {
    const std::string nodes =
        limits.numa_nodes.empty() ? of_parent("cpuset.mems") : format_cpus(limits.numa_nodes);
    TRY(write_control(group / "cpuset.mems", nodes));
  }
  return {};
}

Result<> write_quota(const GroupParent& parent, const fs::path& group, double cpus) {
  const auto quota =
      std::max(kLeastQuotaUs,
               static_cast<std::int64_t>(std::llround(cpus * static_cast<double>(kPeriodUs))));
  if (parent.unified)
    return write_control(group / "cpu.max", fmt::format("{} {}", quota, kPeriodUs));
  TRY(write_control(group / "cpu.cfs_period_us", std::to_string(kPeriodUs)));
  return write_control(group / "cpu.cfs_quota_us", std::to_string(quota));
}

// Limits memory and allows no swap, which would let a run go on very slowly. Kernels without swap
// accounting have no file for it.
Result<> write_memory(const GroupParent& parent, const fs::path& group, std::int64_t bytes) {
  std::error_code error;
  const auto if_there = [&](const char* file, const std::string& text) -> Result<> {
    if (!fs::exists(group / file, error)) return {};
    return write_control(group / file, text);
  };
  if (parent.unified) {
    TRY(write_control(group / "memory.max", std::to_string(bytes)));
    return if_there("memory.swap.max", "0");
  }
  TRY(write_control(group / "memory.limit_in_bytes", std::to_string(bytes)));
  TRY(if_there("memory.swappiness", "0"));
  return if_there("memory.memsw.limit_in_bytes", std::to_string(bytes));
}

// Writes BFQ's own file if there is one, else that of the controller (v1: at least 10; v2: up to
// 10,000).
Result<> write_io(const GroupParent& parent, const fs::path& group, int weight) {
  std::error_code error;
  if (parent.unified) {
    if (fs::exists(group / "io.bfq.weight", error))
      TRY(write_control(group / "io.bfq.weight", std::to_string(weight)));
    if (fs::exists(group / "io.weight", error) || !in_kernel(group))
      return write_control(group / "io.weight", fmt::format("default {}", weight));
    return {};
  }
  if (fs::exists(group / "blkio.bfq.weight", error))
    return write_control(group / "blkio.bfq.weight", std::to_string(weight));
  return write_control(group / "blkio.weight", std::to_string(std::max(weight, 10)));
}

Result<> write_limits(const GroupPlan& plan) {
  const GroupLimits& limits = plan.limits;
  const auto group_in = [&](const GroupParent& parent) { return parent.directory / plan.name; };
  if (!limits.cpus.empty() || !limits.numa_nodes.empty()) {
    if (const GroupParent* parent = parent_for(plan, kCpuset)) TRY(write_cpuset(plan, *parent));
  }
  const GroupParent* cpu = limits.cpu_quota ? parent_for(plan, kQuota) : nullptr;
  if (cpu != nullptr) TRY(write_quota(*cpu, group_in(*cpu), *limits.cpu_quota));
  const GroupParent* memory = limits.memory_bytes ? parent_for(plan, kMemory) : nullptr;
  if (memory != nullptr) TRY(write_memory(*memory, group_in(*memory), *limits.memory_bytes));
  const GroupParent* io = limits.io_weight ? parent_for(plan, kIo) : nullptr;
  if (io != nullptr) TRY(write_io(*io, group_in(*io), *limits.io_weight));
  return {};
}

Change enabling(const GroupParent& parent) {
  const std::string names = join(parent.to_enable, " ");
  return {.kind = "subtree-control",
          .target = parent.directory.string(),
          .before = read_control(parent.directory / "cgroup.subtree_control"),
          .after = names,
          .words = fmt::format("controllers below {}: enable {}", parent.directory.string(), names),
          .outlives_reboot = false};
}

}  // namespace

std::vector<fs::path> GroupPlan::directories() const {
  std::vector<fs::path> found;
  for (const GroupParent& parent : parents) found.push_back(parent.directory / name);
  return found;
}

std::string GroupPlan::target() const {
  std::vector<std::string> paths;
  for (const fs::path& directory : directories()) paths.push_back(directory.string());
  return join(paths, ":");
}

std::string GroupPlan::words() const {
  std::vector<std::string> parts;
  if (!limits.cpus.empty()) parts.push_back("CPUs " + format_cpus(limits.cpus));
  if (!limits.numa_nodes.empty())
    parts.push_back("memory of node " + format_cpus(limits.numa_nodes));
  if (limits.cpu_quota) parts.push_back(fmt::format("{:g} CPUs' time", *limits.cpu_quota));
  if (limits.memory_bytes)
    parts.push_back("memory " + human_bytes(static_cast<double>(*limits.memory_bytes)));
  if (limits.io_weight) parts.push_back(fmt::format("IO weight {}", *limits.io_weight));
  const std::string what = parts.empty() ? "for accounting, without limits" : join(parts, ", ");
  return fmt::format("control group {}: {}", name, what);
}

Result<GroupPlan> plan_group(const GroupTree& tree, const std::string& label,
                             const GroupLimits& limits) {
  GroupPlan plan{.name = name_of(label), .parents = {}, .limits = limits, .notes = {}};
  std::vector<std::string> problems;
  std::vector<Need> of_unified;
  for (const Need& need : needs_of(limits)) {
    if (!add_legacy(tree, need, plan, problems)) of_unified.push_back(need);
  }
  add_unified(tree, of_unified, plan, problems);
  if (!problems.empty()) return fail(Code::kPermission, join(problems, "\n"));
  add_counting(tree, plan.parents);
  if (plan.parents.empty())
    return fail(Code::kPermission, "making a control group needs root, or one that is delegated");
  return plan;
}

Result<> note_groups(const std::vector<const GroupPlan*>& plans, Journal& journal) {
  std::vector<Change> changes;
  for (const GroupPlan* plan : plans) {
    for (const GroupParent& parent : plan->parents) {
      if (!parent.to_enable.empty()) changes.push_back(enabling(parent));
    }
  }
  for (const GroupPlan* plan : plans) {
    changes.push_back({.kind = "cgroup",
                       .target = plan->target(),
                       .before = "",
                       .after = "",
                       .words = plan->words(),
                       .outlives_reboot = false});
  }
  if (changes.empty()) return {};
  TRY(journal.note_all(changes));
  return {};
}

Result<> make_group(const GroupPlan& plan) {
  for (const GroupParent& parent : plan.parents) {
    for (const std::string& name : parent.to_enable)
      TRY(write_control(parent.directory / "cgroup.subtree_control", "+" + name));
    if (!parent.to_enable.empty()) failpoint::reach("group.enabled");
  }
  for (const fs::path& directory : plan.directories()) {
    TRY(sys::make_directories(directory));
    failpoint::reach("group.directory");
  }
  TRY(write_limits(plan));
  failpoint::reach("group.made");
  return {};
}

Result<> enter_group(const std::string& target, pid_t pid) {
  for (const std::string_view directory : split(target, ':')) {
    if (!directory.empty())
      TRY(write_control(fs::path(directory) / "cgroup.procs", std::to_string(pid)));
  }
  return {};
}

Result<> disable_controller(const fs::path& subtree_control, std::string_view name) {
  return write_control(subtree_control, fmt::format("-{}", name));
}

}  // namespace corral::collocate
