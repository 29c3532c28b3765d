#include "collect/cgroup/group.h"

#include <utility>

#include "sys/file.h"

namespace corral::collect::cgroup {
namespace {

namespace fs = std::filesystem;

// The root group has no limits, and its numbers are the host's.
bool is_root_group(const Chain& chain) {
  if (chain.unified) return !is_there(chain.own() / "cgroup.type");
  return is_there(chain.own() / "cgroup.sane_behavior");
}

}  // namespace

bool is_there(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

Finder::Finder(fs::path root, pid_t pid) : root_(std::move(root)) {
  auto memberships = sys::read_file(root_ / "proc" / std::to_string(pid) / "cgroup");
  auto mounts = sys::read_file(root_ / "proc/self/mountinfo");
  if (!memberships || !mounts) {
    error_ = (memberships ? mounts : memberships).error().message;
    return;
  }
  memberships_ = parse_memberships(*memberships);
  mounts_ = parse_mounts(*mounts);
}

Result<Chain> Finder::find(std::string_view controller) const {
  if (!error_.empty()) return fail(Code::kUnavailable, error_);
  const auto place = find_group_path(controller, memberships_, mounts_);
  if (!place) return fail(Code::kNotFound, "the run's group is not in a mounted hierarchy");
  Chain chain{.unified = place->unified, .name = place->name, .directories = {}};
  fs::path directory = root_ / fs::path(place->point).relative_path();
  chain.directories.push_back(directory);
  for (const fs::path& part : fs::path(place->relative)) {
    if (!part.empty()) chain.directories.insert(chain.directories.begin(), directory /= part);
  }
  if (!is_there(chain.own())) return fail(Code::kNotFound, chain.own().string() + " is not there");
  if (is_root_group(chain)) {
    return fail(Code::kUnsupported,
                "the run is in the root group, which is the whole host: see host.*");
  }
  return chain;
}

std::optional<Chain> Finder::find_or_report(std::string_view controller, std::string_view metrics,
                                            SeriesTable& table) const {
  auto chain = find(controller);
  if (chain) return *std::move(chain);
  table.unavailable(metrics, chain.error().message);
  return std::nullopt;
}

}  // namespace corral::collect::cgroup
