#include "collocate/group_undo.h"

#include <fmt/core.h>

#include <algorithm>

#include "collect/cgroup/parse.h"
#include "collocate/group_files.h"
#include "collocate/run_group.h"
#include "core/text.h"

namespace corral::collocate {
namespace {

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
std::vector<fs::path> copies_of(const std::vector<fs::path>& directories, const fs::path& root) {
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

Result<bool> put_back_group(const Standing& entry, const UndoOptions& options) {
  const std::vector<fs::path> directories = own_directories(entry, options);
  if (options.dry_run) return !directories.empty();
  TRY(end_members(directories, kGrace));
  for (const fs::path& directory : directories) TRY(remove_group(directory));
  // Best effort: a process in one of them does not belong to the run.
  for (const fs::path& copy : copies_of(directories, options.root))
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
    if (!options.dry_run) TRY(disable_controller(group / "cgroup.subtree_control", name));
    changed = true;
  }
  return changed;
}

}  // namespace corral::collocate
