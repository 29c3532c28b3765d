#include "collocate/account.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>

#include "collocate/group_files.h"
#include "collocate/run_group.h"
#include "sys/clock.h"
#include "sys/process.h"

namespace corral::collocate {
namespace {

constexpr Nanos kPollPause = std::chrono::milliseconds(1);  // between two reads of a membership
constexpr int kReleases = 4;  // rounds, because processes may fork meanwhile
constexpr Nanos kLeaving = std::chrono::milliseconds(20);  // pause for a killed program to end

// Returns the call that makes a unit of the user's own systemd for the process; the unit ends with
// its last process. It goes over the bus, because systemd-run would start the command itself.
std::vector<std::string> scope_call(const std::string& busctl, const std::string& unit, pid_t pid) {
  return {
      busctl, "--user", "call", "org.freedesktop.systemd1", "/org/freedesktop/systemd1",
      "org.freedesktop.systemd1.Manager", "StartTransientUnit", "ssa(sv)a(sa(sv))", unit, "fail",
      // Properties: the processes; the accounting; a process killed for memory ends no other.
      "5", "PIDs", "au", "1", std::to_string(pid), "CPUAccounting", "b", "1", "MemoryAccounting",
      "b", "1", "CollectMode", "s", "inactive-or-failed", "OOMPolicy", "s", "continue",
      // No further units.
      "0"};
}

// Starts a program with normal priority, even on a busy machine: a run waits for it.
Result<pid_t> start_quietly(const std::vector<std::string>& argv) {
  std::vector<char*> words;
  words.reserve(argv.size() + 1);
  for (const std::string& word : argv) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  sigset_t none;
  sigset_t all;
  ::sigemptyset(&none);
  ::sigfillset(&all);
  posix_spawn_file_actions_t files;
  posix_spawnattr_t attributes;
  ::posix_spawn_file_actions_init(&files);
  ::posix_spawnattr_init(&attributes);
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    ::posix_spawn_file_actions_addopen(&files, fd, "/dev/null", O_RDWR, 0);
  ::posix_spawnattr_setsigmask(&attributes, &none);
  ::posix_spawnattr_setsigdefault(&attributes, &all);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  pid_t pid = 0;
  const int error = ::posix_spawn(&pid, words[0], &files, &attributes, words.data(), environ);
  ::posix_spawnattr_destroy(&attributes);
  ::posix_spawn_file_actions_destroy(&files);
  if (error != 0) return fail_errno(argv[0], error);
  return pid;
}

bool ends_by(const sys::Fd& process, BootTime deadline) {
  for (;;) {
    pollfd ended{.fd = process.get(), .events = POLLIN, .revents = 0};
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(deadline - sys::boot_now()).count();
    const int ready = ::poll(&ended, 1, static_cast<int>(std::max<std::int64_t>(left, 0)));
    if (ready >= 0 || errno != EINTR) return ready > 0;
  }
}

// Returns the exit status of a program. A late one is killed, with a short wait; if it does not end
// even then, it is reaped when this process ends.
Result<int> run_within(const std::vector<std::string>& argv, BootTime deadline) {
  const pid_t pid = TRY(start_quietly(argv));
  const sys::Fd process = sys::open_process(pid).value_or(sys::Fd());
  const bool late = !process || !ends_by(process, deadline);
  if (late) ::kill(pid, SIGKILL);
  if (late && process) ends_by(process, sys::boot_now() + kLeaving);
  int status = 0;
  const bool reaped = ::waitpid(pid, &status, WNOHANG) == pid;
  if (late || !reaped) return fail(Code::kUnavailable, argv[0] + " did not answer in time");
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

// systemd answers before it has moved the process.
void await_membership(const fs::path& file, const std::string& scope, BootTime deadline) {
  while (sys::boot_now() < deadline) {
    if (sys::read_file(file).value_or("").find("/" + scope) != std::string::npos) return;
    sys::system_clock().sleep_until(sys::boot_now() + kPollPause);
  }
}

// True if the process belongs to the user's systemd. Otherwise a scope would take the run out of
// its place: out of a batch system's group with its limits, or out of a login session, which the
// user's systemd does not outlive.
bool is_of_user_manager(const fs::path& root, const GroupTree& tree) {
  const std::string groups = sys::read_file(root / "proc/self/cgroup").value_or("");
  return groups.find("/user@") != std::string::npos && is_unlimited(tree.own(""));
}

}  // namespace

Result<std::string> scope_tool() {
  if (std::getenv("DBUS_SESSION_BUS_ADDRESS") == nullptr &&
      std::getenv("XDG_RUNTIME_DIR") == nullptr)
    return fail(Code::kUnsupported, "the systemd of this user does not answer");
  const char* path = std::getenv("PATH");
  const auto found = sys::find_in_path("busctl", path == nullptr ? "" : path);
  if (!found) return fail(Code::kUnsupported, "busctl is missing, so systemd cannot be asked");
  return found->string();
}

// Moves this process into its own group, which changes nothing.
void AccountGroup::await_grace() const {
  if (!directories_.empty()) [[maybe_unused]]
    const auto stays = enter_group(directories_.back().home.string(), ::getpid());
}

Result<> AccountGroup::enter(pid_t pid) {
  if (scope_.empty()) return enter_group(target_, pid);
  const BootTime deadline = sys::boot_now() + patience_;
  const auto status = run_within(scope_call(busctl_, scope_, pid), deadline);
  if (!status) return tl::unexpected(status.error().with_context("systemd scope"));
  if (*status != 0)
    return fail(Code::kUnavailable, fmt::format("systemd refuses a scope (busctl: {})", *status));
  await_membership(root_ / "proc" / std::to_string(pid) / "cgroup", scope_, deadline);
  return {};
}

void AccountGroup::release_members() const {
  for (const Directory& directory : directories_) {
    for (int round = 0; round < kReleases; ++round) {
      const std::vector<pid_t> pids = own_members(directory.group);
      for (const pid_t pid : pids)
        [[maybe_unused]] const auto moved = enter_group(directory.home.string(), pid);
      if (pids.empty()) break;
    }
  }
}

Result<AccountGroup> account_group(Journal& journal, const AccountOptions& options) {
  const GroupTree tree = TRY(GroupTree::read(options.root));
  AccountGroup group;
  const auto plan = plan_group(tree, options.label, {});
  if (plan) {
    TRY(note_groups({&*plan}, journal));
    TRY(make_group(*plan));
    group.target_ = plan->target();
    for (const GroupParent& parent : plan->parents)
      group.directories_.push_back({.group = parent.directory / plan->name,
                                    .home = parent.unified ? tree.own("") : parent.directory});
    return group;
  }
  if (!is_of_user_manager(options.root, tree)) return fail(plan.error().code, plan.error().message);
  auto busctl = options.busctl.empty() ? scope_tool() : options.busctl;
  if (!busctl) return fail(plan.error().code, plan.error().message + "; " + busctl.error().message);
  group.busctl_ = *std::move(busctl);
  group.scope_ = fmt::format("corral-{}.scope", options.label);
  group.root_ = options.root;
  group.patience_ = options.patience;
  return group;
}

}  // namespace corral::collocate
