#include "collocate/run_group.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>

#include "collect/cgroup/parse.h"
#include "collocate/cpu_sets.h"
#include "collocate/group_files.h"
#include "core/cpu_list.h"
#include "core/failpoint.h"
#include "core/ids.h"
#include "core/text.h"

namespace corral::collocate {
namespace {

// ---- places

std::vector<std::string> read_words(const fs::path& file) {
  std::vector<std::string> words;
  const std::string line = read_control(file);
  for (const std::string_view word : split(line, ' ')) {
    if (!word.empty()) words.emplace_back(word);
  }
  return words;
}

bool contains(std::span<const std::string> list, std::string_view item) {
  return std::ranges::find(list, item) != list.end();
}

bool contains_all(std::span<const std::string> list, std::span<const std::string> items) {
  return std::ranges::all_of(items, [&](const std::string& item) { return contains(list, item); });
}

fs::path below_root(const fs::path& root, const std::string& path) {
  return root / fs::path(path).relative_path();
}

GroupParent unified_parent(const fs::path& directory) {
  return {.directory = directory,
          .unified = true,
          .controllers = read_words(directory / "cgroup.subtree_control")};
}

// True if this user may make a group there.
bool may_make_group(const fs::path& parent) { return ::access(parent.c_str(), W_OK | X_OK) == 0; }

// A process may be moved only by a user that may write the member lists of both ends' common group.
bool may_move_below(const fs::path& parent) {
  return may_make_group(parent) && ::access((parent / "cgroup.procs").c_str(), W_OK) == 0;
}

// ---- plans and limits

constexpr std::int64_t kPeriodUs = 100'000;
constexpr std::int64_t kLeastQuotaUs = 1'000;  // the kernel's
constexpr std::size_t kLongestLabel = 60;

// The controllers of a limit, and its name.
struct LimitKind {
  const char* legacy;   // v1's controller
  const char* unified;  // v2's
  const char* words;
};
constexpr LimitKind kCpuset{"cpuset", "cpuset", "CPU set"};
constexpr LimitKind kQuota{"cpu", "cpu", "CPU quota"};
constexpr LimitKind kMemory{"memory", "memory", "memory limit"};
constexpr LimitKind kIo{"blkio", "io", "IO weight"};
// Controllers of v1 that only count.
constexpr auto kCounting = {"memory", "cpuacct", "freezer", "pids"};

std::vector<LimitKind> limit_kinds(const GroupLimits& limits) {
  std::vector<LimitKind> kinds;
  if (!limits.cpus.empty() || !limits.numa_nodes.empty()) kinds.push_back(kCpuset);
  if (limits.cpu_quota) kinds.push_back(kQuota);
  if (limits.memory_bytes) kinds.push_back(kMemory);
  if (limits.io_weight) kinds.push_back(kIo);
  return kinds;
}

std::string group_name(const std::string& label) {
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
bool add_legacy(const GroupTree& tree, const LimitKind& kind, GroupPlan& plan,
                std::vector<std::string>& problems) {
  auto parent = tree.legacy(kind.legacy);
  if (!parent) return false;
  if (may_make_group(parent->directory)) {
    add(plan.parents, *std::move(parent));
  } else {
    problems.push_back(
        fmt::format("{}: making a group in {} needs root", kind.words, parent->directory.string()));
  }
  return true;
}

void add_unified(const GroupTree& tree, const std::vector<LimitKind>& kinds, GroupPlan& plan,
                 std::vector<std::string>& problems) {
  std::vector<std::string> required;
  for (const LimitKind& kind : kinds) {
    if (tree.has_unified(kind.unified)) {
      required.emplace_back(kind.unified);
    } else {
      problems.push_back(fmt::format("{}: this kernel has no control group for it", kind.words));
    }
  }
  if (required.empty()) return;
  auto parent = tree.unified(required);
  if (!parent) {
    for (const LimitKind& kind : kinds)
      problems.push_back(
          fmt::format("{}: making a control group needs root, or a group of v2 that "
                      "is delegated to this user with '{}' enabled",
                      kind.words, kind.unified));
    return;
  }
  const fs::path own = tree.own("");
  if (parent->directory != own && !is_unlimited(own))
    plan.notes.push_back("limits of this process's own control group do not hold for the run");
  add(plan.parents, *std::move(parent));
}

const GroupParent* parent_for(const GroupPlan& plan, const LimitKind& kind) {
  for (const GroupParent& parent : plan.parents) {
    if (parent.has(parent.unified ? kind.unified : kind.legacy)) return &parent;
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
        limits.cpus.empty() ? of_parent("cpuset.cpus") : format_cpu_list(limits.cpus);
    TRY(write_control(group / "cpuset.cpus", cpus));
  }
  if (all || !limits.numa_nodes.empty()) {
    const std::string nodes =
        limits.numa_nodes.empty() ? of_parent("cpuset.mems") : format_cpu_list(limits.numa_nodes);
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
  return {
      .kind = "subtree-control",
      .target = parent.directory.string(),
      .before = read_control(parent.directory / "cgroup.subtree_control"),
      .after = names,
      .words = fmt::format("controllers below {}: enable {}", parent.directory.string(), names)};
}

// ---- undo

constexpr Nanos kGrace = std::chrono::seconds(2);

// Returns the entry's directories that are groups of Corral; others are ignored.
std::vector<fs::path> own_directories(const Standing& entry, const UndoOptions& options) {
  std::vector<fs::path> found;
  for (const std::string_view name : split(entry.change.target, ':')) {
    const fs::path directory(name);
    std::error_code error;
    const bool ours = directory.filename().string().starts_with(kGroupPrefix);
    const bool real = options.root != "/" || in_kernel(directory);
    if (ours && real && fs::is_directory(directory, error)) found.push_back(directory);
  }
  return found;
}

// A tool that gets a group as its containers' parent (podman) makes the same path in the other
// hierarchies, and leaves it there.
std::vector<fs::path> copied_directories(const std::vector<fs::path>& directories,
                                         const fs::path& root) {
  const std::string text = sys::read_file(root / "proc/self/mountinfo").value_or("");
  std::vector<fs::path> points;
  for (const auto& mount : collect::cgroup::parse_mounts(text))
    points.push_back(root / fs::path(mount.point).relative_path());
  std::vector<fs::path> copies;
  for (const fs::path& directory : directories) {
    for (const fs::path& point : points) {
      const fs::path relative = directory.lexically_relative(point);
      if (relative.empty() || *relative.begin() == "..") continue;
      for (const fs::path& other : points) copies.push_back(other / relative);
    }
  }
  std::erase_if(copies, [&](const fs::path& copy) {
    std::error_code error;
    return std::ranges::count(directories, copy) > 0 || !fs::is_directory(copy, error);
  });
  return copies;
}

bool enables(const fs::path& group, std::string_view controller) {
  const std::string line = " " + read_control(group / "cgroup.subtree_control") + " ";
  return line.find(fmt::format(" {} ", controller)) != std::string::npos;
}

bool enabled_below(const fs::path& group, std::string_view controller) {
  return std::ranges::any_of(sys::list_directory(group), [&](const std::string& name) {
    return name.starts_with(kGroupPrefix) || enables(group / name, controller);
  });
}

}  // namespace

// ---- places

bool GroupParent::has(std::string_view controller) const {
  return contains(controllers, controller);
}

bool is_unlimited(const fs::path& group) {
  const auto is_or_absent = [&](const char* file, std::string_view start) {
    const std::string text = read_control(group / file);
    return text.empty() || text.starts_with(start);
  };
  return is_or_absent("memory.max", "max") && is_or_absent("memory.high", "max") &&
         is_or_absent("cpu.max", "max") && is_or_absent("cpu.weight", "100") &&
         read_control(group / "cpuset.cpus").empty();
}

Result<GroupTree> GroupTree::read(const fs::path& root) {
  namespace cg = collect::cgroup;
  const auto memberships = cg::parse_memberships(TRY(sys::read_file(root / "proc/self/cgroup")));
  const auto mounts = cg::parse_mounts(TRY(sys::read_file(root / "proc/self/mountinfo")));
  GroupTree tree;
  for (const cg::Membership& membership : memberships) {
    const std::string first = membership.controllers.empty() ? "" : membership.controllers.front();
    const auto place = cg::find_group_path(first, std::span(&membership, 1), mounts);
    if (!place) continue;
    const fs::path point = below_root(root, place->point);
    if (!place->unified) {
      tree.legacy_.push_back(
          {.controllers = membership.controllers, .own = point / place->relative});
      continue;
    }
    for (fs::path relative = place->relative; !relative.empty(); relative = relative.parent_path())
      tree.chain_.push_back(point / relative);
    tree.chain_.push_back(point);
  }
  if (tree.legacy_.empty() && tree.chain_.empty())
    return fail(Code::kUnsupported, "no control groups are mounted here");
  return tree;
}

std::optional<GroupParent> GroupTree::legacy(std::string_view controller) const {
  for (const Legacy& one : legacy_) {
    if (!contains(one.controllers, controller)) continue;
    return GroupParent{.directory = one.own, .unified = false, .controllers = one.controllers};
  }
  return std::nullopt;
}

std::optional<GroupParent> GroupTree::unified(std::span<const std::string> required) const {
  for (const fs::path& directory : chain_) {
    if (!may_move_below(directory)) continue;
    GroupParent parent = unified_parent(directory);
    if (contains_all(parent.controllers, required)) return parent;
  }
  if (chain_.empty() || !may_move_below(chain_.back())) return std::nullopt;
  // Only the top group may have both processes and groups with controllers below it.
  GroupParent top = unified_parent(chain_.back());
  if (!contains_all(read_words(top.directory / "cgroup.controllers"), required))
    return std::nullopt;
  for (const std::string& name : required) {
    if (top.has(name)) continue;
    top.to_enable.push_back(name);
    top.controllers.push_back(name);
  }
  return top;
}

std::optional<GroupParent> GroupTree::unified_to_count() const {
  if (chain_.empty()) return std::nullopt;
  // Inside a run's group the new group is made below it, so that the outer run counts it, too.
  const bool nested = chain_.front().filename().string().starts_with(kGroupPrefix);
  if (!nested && chain_.size() > 1 && is_unlimited(chain_.front()) && may_move_below(chain_[1])) {
    GroupParent beside = unified_parent(chain_[1]);
    if (beside.has("memory") && !beside.has("cpu") && !beside.has("io")) return beside;
  }
  if (!may_move_below(chain_.front())) return std::nullopt;
  GroupParent below = unified_parent(chain_.front());
  if (below.has("cpu") || below.has("io")) return std::nullopt;
  return below;
}

bool GroupTree::has_unified(std::string_view controller) const {
  return std::ranges::any_of(chain_, [&](const fs::path& directory) {
    return contains(read_words(directory / "cgroup.controllers"), controller);
  });
}

fs::path GroupTree::own(std::string_view controller) const {
  if (const auto parent = legacy(controller)) return parent->directory;
  return chain_.empty() ? fs::path() : chain_.front();
}

// ---- plans and limits

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
  if (!limits.cpus.empty()) parts.push_back("CPUs " + format_cpu_list(limits.cpus));
  if (!limits.numa_nodes.empty())
    parts.push_back("memory of node " + format_cpu_list(limits.numa_nodes));
  if (limits.cpu_quota) parts.push_back(fmt::format("{:g} CPUs' time", *limits.cpu_quota));
  if (limits.memory_bytes)
    parts.push_back("memory " + human_bytes(static_cast<double>(*limits.memory_bytes)));
  if (limits.io_weight) parts.push_back(fmt::format("IO weight {}", *limits.io_weight));
  const std::string what = parts.empty() ? "for accounting, without limits" : join(parts, ", ");
  return fmt::format("control group {}: {}", name, what);
}

Result<GroupPlan> plan_group(const GroupTree& tree, const std::string& label,
                             const GroupLimits& limits) {
  GroupPlan plan{.name = group_name(label), .limits = limits};
  std::vector<std::string> problems;
  std::vector<LimitKind> of_unified;
  for (const LimitKind& kind : limit_kinds(limits)) {
    if (!add_legacy(tree, kind, plan, problems)) of_unified.push_back(kind);
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
    changes.push_back({.kind = "cgroup", .target = plan->target(), .words = plan->words()});
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

// ---- undo

Result<bool> put_back_group(const Standing& entry, const UndoOptions& options) {
  const std::vector<fs::path> directories = own_directories(entry, options);
  if (options.dry_run) return !directories.empty();
  TRY(end_members(directories, kGrace));
  for (const fs::path& directory : directories) TRY(remove_group(directory));
  // Best effort: a process in one of them does not belong to the run.
  for (const fs::path& copy : copied_directories(directories, options.root))
    [[maybe_unused]] const auto removed = remove_group(copy);
  return !directories.empty();
}

std::string users_of_group(const Standing& entry, const UndoOptions& options) {
  for (const fs::path& directory : own_directories(entry, options)) {
    const std::vector<pid_t> pids = members(directory);
    if (!pids.empty())
      return fmt::format("process {} ({}) still runs in it", pids.front(),
                         read_control(fmt::format("/proc/{}/comm", pids.front())));
  }
  return {};
}

// Disables controllers, except those that a group below has enabled in turn, or that groups of
// another owner use.
Result<bool> put_back_controllers(const Standing& entry, const UndoOptions& options) {
  const fs::path group(entry.change.target);
  bool changed = false;
  for (const std::string_view name : split(entry.change.after, ' ')) {
    if (name.empty() || !enables(group, name) || enabled_below(group, name)) continue;
    if (!options.dry_run)
      TRY(write_control(group / "cgroup.subtree_control", fmt::format("-{}", name)));
    changed = true;
  }
  return changed;
}

}  // namespace corral::collocate
