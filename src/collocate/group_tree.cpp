#include "collocate/group_tree.h"

#include <unistd.h>

#include <algorithm>

#include "collect/cgroup/parse.h"
#include "collocate/group_files.h"
#include "core/text.h"

namespace corral::collocate {
namespace {

std::vector<std::string> words_of(const fs::path& file) {
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
          .controllers = words_of(directory / "cgroup.subtree_control"),
          .to_enable = {}};
}

// A process may be moved only by a user that may write the member lists of both ends' common group.
bool may_move_below(const fs::path& parent) {
  return may_make_group(parent) && ::access((parent / "cgroup.procs").c_str(), W_OK) == 0;
}

}  // namespace

bool GroupParent::has(std::string_view controller) const {
  return contains(controllers, controller);
}

bool may_make_group(const fs::path& parent) { return ::access(parent.c_str(), W_OK | X_OK) == 0; }

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
    return GroupParent{
        .directory = one.own, .unified = false, .controllers = one.controllers, .to_enable = {}};
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
  if (!contains_all(words_of(top.directory / "cgroup.controllers"), required)) return std::nullopt;
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
    return contains(words_of(directory / "cgroup.controllers"), controller);
  });
}

fs::path GroupTree::own(std::string_view controller) const {
  if (const auto parent = legacy(controller)) return parent->directory;
  return chain_.empty() ? fs::path() : chain_.front();
}

}  // namespace corral::collocate
