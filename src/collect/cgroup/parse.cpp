#include "collect/cgroup/parse.h"

#include <algorithm>
#include <array>

#include "collect/scan.h"
#include "core/text.h"

namespace corral::collect::cgroup {
namespace {

std::vector<std::string> split_list(std::string_view text) {
  std::vector<std::string> items;
  for (const std::string_view item : split(text, ',')) {
    if (!item.empty()) items.emplace_back(item);
  }
  return items;
}

bool is_octal(char c) { return c >= '0' && c <= '7'; }

// mountinfo writes blanks, tabs, newlines and backslashes as \040.
std::string unescape(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool escaped = text[i] == '\\' && i + 3 < text.size() && is_octal(text[i + 1]) &&
                         is_octal(text[i + 2]) && is_octal(text[i + 3]);
    if (!escaped) {
      out += text[i];
      continue;
    }
    out +=
        static_cast<char>((text[i + 1] - '0') * 64 + (text[i + 2] - '0') * 8 + text[i + 3] - '0');
    i += 3;
  }
  return out;
}

// "ID PARENT MAJOR:MINOR ROOT POINT OPTIONS [OPTIONAL...] - TYPE SOURCE SUPER"
std::optional<Mount> parse_mount(std::string_view line) {
  const std::size_t dash = line.find(" - ");
  if (dash == std::string_view::npos) return std::nullopt;
  Scanner before(line.substr(0, dash));
  for (int i = 0; i < 3; ++i) before.word();
  const std::string_view root = before.word();
  const std::string_view point = before.word();
  Scanner after(line.substr(dash + 3));
  const std::string_view type = after.word();
  after.word();
  if (point.empty() || (type != "cgroup" && type != "cgroup2")) return std::nullopt;
  Mount mount{.unified = type == "cgroup2",
              .controllers = {},
              .root = unescape(root),
              .point = unescape(point)};
  if (!mount.unified) mount.controllers = split_list(after.word());
  return mount;
}

// The part of `path` below `root`: empty when they are the same; nothing when it is not below.
std::optional<std::string> below(std::string_view path, std::string_view root) {
  if (path.find("/..") != std::string_view::npos) return std::nullopt;
  if (root == "/") root = "";
  if (!path.starts_with(root)) return std::nullopt;
  path.remove_prefix(root.size());
  if (!path.empty() && path.front() != '/') return std::nullopt;
  path.remove_prefix(std::min(path.find_first_not_of('/'), path.size()));
  return std::string(path);
}

bool has(const std::vector<std::string>& list, std::string_view item) {
  return std::ranges::find(list, item) != list.end();
}

std::optional<GroupPath> path_in(const Membership& membership, std::span<const Mount> mounts,
                                 std::string_view controller) {
  const bool unified = membership.controllers.empty();
  for (const Mount& mount : mounts) {
    if (mount.unified != unified || (!unified && !has(mount.controllers, controller))) continue;
    const auto relative = below(membership.path, mount.root);
    if (!relative) continue;
    return GroupPath{
        .unified = unified, .name = membership.path, .point = mount.point, .relative = *relative};
  }
  return std::nullopt;
}

// "8:0", whose major is not among `skipped`.
bool is_counted_device(std::string_view device, std::span<const std::uint64_t> skipped) {
  Scanner scan(device);
  std::uint64_t major = 0;
  std::uint64_t minor = 0;
  if (!scan.number(major) || !scan.skip(':') || !scan.number(minor) || !scan.done()) return false;
  return std::ranges::find(skipped, major) == skipped.end();
}

}  // namespace

std::vector<Membership> parse_memberships(std::string_view text) {
  std::vector<Membership> found;
  for (const std::string_view line : split(text, '\n')) {
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first == std::string_view::npos ? first : first + 1);
    if (second == std::string_view::npos) continue;
    const std::string_view controllers = line.substr(first + 1, second - first - 1);
    if (controllers.starts_with("name=") || line.substr(second + 1, 1) != "/") continue;
    found.push_back(
        {.controllers = split_list(controllers), .path = std::string(line.substr(second + 1))});
  }
  return found;
}

std::vector<Mount> parse_mounts(std::string_view mountinfo) {
  std::vector<Mount> mounts;
  for (const std::string_view line : split(mountinfo, '\n')) {
    if (auto mount = parse_mount(line)) mounts.push_back(*std::move(mount));
  }
  return mounts;
}

std::optional<GroupPath> find_group_path(std::string_view controller,
                                         std::span<const Membership> memberships,
                                         std::span<const Mount> mounts) {
  for (const Membership& membership : memberships) {
    if (!has(membership.controllers, controller)) continue;
    if (auto place = path_in(membership, mounts, controller)) return place;
  }
  for (const Membership& membership : memberships) {
    if (!membership.controllers.empty()) continue;
    if (auto place = path_in(membership, mounts, {})) return place;
  }
  return std::nullopt;
}

std::optional<double> parse_cpu_max(std::string_view text) {
  Scanner scan(text);
  std::uint64_t quota = 0;
  std::uint64_t period = 0;
  if (!scan.number(quota) || !scan.number(period) || period == 0) return std::nullopt;
  return static_cast<double>(quota) / static_cast<double>(period);
}

std::vector<std::uint64_t> stacked_majors(std::string_view proc_devices) {
  constexpr auto kNames =
      std::to_array<std::string_view>({"device-mapper", "md", "mdp", "loop", "zram"});
  std::vector<std::uint64_t> majors;
  const std::size_t block = proc_devices.find("Block devices:");
  if (block == std::string_view::npos) return majors;
  for (Scanner scan(proc_devices.substr(block)); !scan.done(); scan.line()) {
    std::uint64_t major = 0;
    if (scan.number(major) && std::ranges::find(kNames, scan.word()) != kNames.end())
      majors.push_back(major);
  }
  return majors;
}

IoTotals parse_io_stat(std::string_view text, std::span<const std::uint64_t> skipped) {
  IoTotals totals;
  for (Scanner scan(text); !scan.done(); scan.line()) {
    if (!is_counted_device(scan.word(), skipped)) continue;
    for (std::string_view key = scan.word('='); !key.empty(); key = scan.word('=')) {
      std::uint64_t value = 0;
      if (!scan.skip('=') || !scan.number(value)) break;
      if (key == "rbytes") totals.read_bytes += value;
      if (key == "wbytes") totals.write_bytes += value;
      if (key == "rios") totals.reads += value;
      if (key == "wios") totals.writes += value;
    }
  }
  return totals;
}

ReadWrite parse_blkio(std::string_view text, std::span<const std::uint64_t> skipped) {
  ReadWrite totals;
  for (Scanner scan(text); !scan.done(); scan.line()) {
    if (!is_counted_device(scan.word(), skipped)) continue;
    const std::string_view what = scan.word();
    std::uint64_t value = 0;
    if (!scan.number(value)) continue;
    if (what == "Read") totals.read += value;
    if (what == "Write") totals.write += value;
  }
  return totals;
}

}  // namespace corral::collect::cgroup
