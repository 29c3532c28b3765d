#include "collocate/group_files.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <linux/magic.h>
#include <poll.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <iterator>

#include "core/text.h"
#include "sys/clock.h"
#include "sys/process.h"

namespace corral::collocate {
namespace {

constexpr Nanos kPollPause = std::chrono::milliseconds(5);  // pause between two checks
constexpr Nanos kLeaving = std::chrono::seconds(1);         // time for killed processes to end

std::vector<fs::path> groups_below(const fs::path& group) {
  std::vector<fs::path> found;
  for (const std::string& name : sys::list_directory(group)) {
    std::error_code error;
    if (fs::is_directory(group / name, error) && !fs::is_symlink(group / name, error))
      found.push_back(group / name);
  }
  return found;
}

template <class Condition>
bool wait_for(Nanos limit, Condition&& condition) {
  for (const BootTime deadline = sys::boot_now() + limit; !condition();) {
    if (sys::boot_now() >= deadline) return false;
    sys::system_clock().sleep_until(sys::boot_now() + kPollPause);
  }
  return true;
}

std::vector<pid_t> members_of_all(std::span<const fs::path> directories) {
  std::vector<pid_t> all;
  for (const fs::path& directory : directories) {
    const std::vector<pid_t> some = members(directory);
    all.insert(all.end(), some.begin(), some.end());
  }
  std::ranges::sort(all);
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

// Freezes on a best-effort basis: a group of v1 may have no freezer.
void freeze(std::span<const fs::path> directories, bool frozen) {
  for (const fs::path& directory : directories) {
    std::error_code error;
    const fs::path v1 = directory / "freezer.state";
    const fs::path v2 = directory / "cgroup.freeze";
    if (fs::exists(v1, error)) static_cast<void>(write_control(v1, frozen ? "FROZEN" : "THAWED"));
    if (fs::exists(v2, error)) static_cast<void>(write_control(v2, frozen ? "1" : "0"));
  }
}

// Sends the signal through descriptors, and only to processes that are still members after these
// were opened: a reused PID is not hit.
void signal_members(std::span<const fs::path> directories, int signal) {
  std::vector<std::pair<pid_t, sys::Fd>> handles;
  for (const pid_t pid : members_of_all(directories)) {
    auto handle = sys::open_process(pid);
    if (handle) handles.emplace_back(pid, std::move(*handle));
  }
  const std::vector<pid_t> still = members_of_all(directories);
  for (const auto& [pid, handle] : handles) {
    if (std::ranges::binary_search(still, pid)) sys::signal_process(handle, signal);
  }
}

void signal_frozen(std::span<const fs::path> directories, int signal) {
  freeze(directories, true);
  signal_members(directories, signal);
  freeze(directories, false);
}

// A process, held by a descriptor, so that a reuse of its PID is noticed.
struct HeldProcess {
  pid_t pid = 0;
  sys::Fd process;
};

bool lives(const HeldProcess& held) {
  pollfd ended{.fd = held.process.get(), .events = POLLIN, .revents = 0};
  return ::poll(&ended, 1, 0) == 0;
}

// Returns the descendants of a process, to any depth; empty once it has ended.
std::vector<HeldProcess> started_by(const HeldProcess& parent) {
  std::vector<HeldProcess> found;
  for (const pid_t pid : sys::descendants_of(parent.pid)) {
    if (auto process = sys::open_process(pid)) found.push_back({pid, std::move(*process)});
  }
  // The check follows the opening of the descriptors: the PID of a process that ended meanwhile may
  // have been reused.
  const std::vector<pid_t> still = sys::descendants_of(parent.pid);
  if (!lives(parent)) return {};
  std::erase_if(found,
                [&](const HeldProcess& held) { return std::ranges::count(still, held.pid) == 0; });
  return found;
}

// Adds all descendants of the held processes.
void hold_trees(std::vector<HeldProcess>& held) {
  std::vector<HeldProcess> more;
  for (const HeldProcess& parent : held)
    std::ranges::move(started_by(parent), std::back_inserter(more));
  std::ranges::move(more, std::back_inserter(held));
}

}  // namespace

bool in_kernel(const fs::path& path) {
  struct statfs info {};
  if (::statfs(path.c_str(), &info) != 0) return false;
  return info.f_type == CGROUP_SUPER_MAGIC || info.f_type == CGROUP2_SUPER_MAGIC;
}

Result<> write_control(const fs::path& file, std::string_view text) {
  const int flags = in_kernel(file.parent_path()) ? O_WRONLY : O_WRONLY | O_CREAT | O_TRUNC;
  const sys::Fd fd = TRY(sys::open_file(file, flags));
  for (;;) {
    if (::write(fd.get(), text.data(), text.size()) >= 0) return {};
    if (errno != EINTR)
      return fail_errno(fmt::format("write {} to {}", text, file.string()), errno);
  }
}

std::string read_control(const fs::path& file) {
  const auto text = sys::read_file(file);
  return text ? std::string(text->substr(0, text->find('\n'))) : "";
}

std::vector<pid_t> own_members(const fs::path& group) {
  std::vector<pid_t> found;
  const std::string text = sys::read_file(group / "cgroup.procs").value_or("");
  for (const std::string_view line : split(text, '\n')) {
    const auto pid = parse_int(line);
    if (pid && *pid > 0) found.push_back(static_cast<pid_t>(*pid));
  }
  return found;
}

std::vector<pid_t> members(const fs::path& group) {
  std::vector<pid_t> found = own_members(group);
  for (const fs::path& below : groups_below(group)) {
    const std::vector<pid_t> some = members(below);
    found.insert(found.end(), some.begin(), some.end());
  }
  return found;
}

Result<> end_members(std::span<const fs::path> directories, Nanos grace) {
  const auto empty = [&] { return members_of_all(directories).empty(); };
  if (empty()) return {};
  signal_frozen(directories, SIGTERM);
  if (wait_for(grace, empty)) return {};
  // Repeated: without a freezer some processes may have forked in between.
  for (int attempt = 0; attempt < 5; ++attempt) {
    signal_frozen(directories, SIGKILL);
    if (wait_for(kLeaving, empty)) return {};
  }
  return fail(Code::kUnavailable,
              fmt::format("process {} does not end", members_of_all(directories).front()));
}

void end_commands(const std::vector<sys::ProcessIdentity>& commands, Nanos grace) {
  std::vector<HeldProcess> held;
  for (const sys::ProcessIdentity& command : commands) {
    auto process = sys::open_process(command.pid);
    if (process && sys::is_alive(command)) held.push_back({command.pid, std::move(*process)});
  }
  const auto ended = [&] { return std::ranges::none_of(held, lives); };
  for (const int signal : {SIGTERM, SIGKILL}) {
    hold_trees(held);
    // Children before their parents.
    for (auto one = held.rbegin(); one != held.rend(); ++one)
      sys::signal_process(one->process, signal);
    if (wait_for(grace, ended)) return;
  }
}

Result<bool> remove_group(const fs::path& group) {
  for (const fs::path& below : groups_below(group)) TRY(remove_group(below));
  std::error_code error;
  if (!fs::exists(group, error)) return false;
  if (!in_kernel(group)) fs::remove_all(group, error);
  int reason = 0;
  const bool gone = wait_for(kLeaving, [&] {
    reason = ::rmdir(group.c_str()) == 0 ? 0 : errno;
    return reason != EBUSY;
  });
  if (!gone || (reason != 0 && reason != ENOENT)) return fail_errno(group.string(), reason);
  return true;
}

}  // namespace corral::collocate
