// Processes: starting one behind a gate, knowing it again later, ending a tree.
#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "core/time.h"
#include "sys/fd.h"
#include "sys/file.h"

namespace corral::sys {

// A process for ever: a pid alone is used again, with its start time and the boot it is not.
struct ProcessIdentity {
  pid_t pid = 0;
  std::uint64_t start_ticks = 0;  // field 22 of /proc/PID/stat
  std::string boot_id;            // 32 hex digits
  bool operator==(const ProcessIdentity&) const = default;
};
Result<ProcessIdentity> identity_of(pid_t pid);
// Running or stopped, and the same one; a zombie is not alive.
bool is_alive(const ProcessIdentity& identity);
// When it was made, to a hundredth of a second.
BootTime start_of(const ProcessIdentity& identity);
// 32 hex digits of /proc/sys/kernel/random/boot_id; empty when the kernel does not say.
std::string boot_id();
// A pidfd: readable once the process has ended. This libc's own function cannot be linked from C++.
Result<Fd> open_process(pid_t pid);
// Sends a signal to a process of open_process(): a number that has become another process's is
// never hit. Nothing happens when the process is gone.
void signal_process(const Fd& process, int signal);

struct SpawnOptions {
  std::vector<std::string> argv;         // argv[0] is executed as a path; no PATH search
  std::vector<std::string> environment;  // "K=V"
  fs::path directory;                    // empty: this one
  int standard_input = 0;
  int standard_output = 1;
  int standard_error = 2;
  bool new_session = true;
  bool new_group = false;  // a process group of its own in this session
  // Standard input becomes its controlling terminal (with new_session). The hangup of that ends
  // nothing: SIGHUP is ignored, as by nohup.
  bool own_terminal = false;
  // It takes signals as this process did when it began (note_inherited()); else by default.
  bool inherits_signals = false;
  // Sent to it when the thread that started it ends, however that comes; 0: none.
  int death_signal = 0;
};

// A started process that waits before its exec until release(); dies with an error status when this
// object goes before.
class GatedChild {
 public:
  static Result<GatedChild> spawn(const SpawnOptions& options);
  [[nodiscard]] pid_t pid() const { return pid_; }
  // Lets it exec. The error is exec's (the child is then reaped): kNotFound, kPermission or other.
  Result<> release();

 private:
  GatedChild(pid_t pid, Fd gate, Fd report)
      : pid_(pid), gate_(std::move(gate)), report_(std::move(report)) {}
  pid_t pid_;
  Fd gate_;
  Fd report_;
};

// Starts a process that shares nothing with this one: own session, idle priority, /dev/null as
// input and, unless `log` is open, as output. It is a child of this process (or of its subreaper);
// its pid is given back.
Result<pid_t> spawn_detached(const std::vector<std::string>& argv,
                             const std::vector<std::string>& environment, const Fd& log);

// Runs a short helper at low priority, in this process's session, without a shell, and gives its
// output (at most 64 KiB). kUnavailable after `limit`, when it is killed. It dies with this thread.
struct CaptureOptions {
  std::vector<std::string> argv;  // argv[0] may be searched in PATH
  fs::path directory;
  Nanos limit{std::chrono::seconds(10)};
  bool idle = true;  // runs while no other process wants its CPU, so perhaps never; false: normally
  int standard_input = -1;                                             // -1: /dev/null
  std::optional<std::vector<std::string>> environment = std::nullopt;  // "K=V"; none: this one's
  // Takes the output piece by piece, all of it, in place of the returned text. False ends the
  // helper: kTooLarge.
  std::function<bool(std::string_view)> take = nullptr;
  // Asked ten times a second: true when the output is no longer wanted. Ends the helper then:
  // kUnavailable.
  std::function<bool()> left = nullptr;
};
Result<std::string> capture_output(const CaptureOptions& options, int* exit_code = nullptr);

// This process's own, an entry "NAME=value" each. Not while another thread changes it.
std::vector<std::string> own_environment();
// A variable of it; the fallback when it is not set or empty.
std::string own_variable(const char* variable, std::string_view fallback = "");

// Returns the path of a command that is not a path, found in $PATH as execvp would; kNotFound, or
// kPermission if it is there but not executable.
Result<fs::path> find_in_path(const std::string& command, std::string_view path_variable);
// The same in this process's $PATH; /usr/bin:/bin when it is not set.
Result<fs::path> find_in_path(const std::string& command);

// Forks a process that runs `body`, which never comes back and makes async-signal-safe calls only.
// A child of this process that started_here() knows.
Result<pid_t> fork_here(const std::function<void()>& body);

// True for a process that this one started itself (by the functions above), from its fork on.
bool started_here(pid_t pid);
// Children at one look, of any thread; zombies are among them.
std::vector<pid_t> children_of(pid_t pid);
// Descendants of `root`, without it, at one look through /proc/PID/task/*/children.
std::vector<pid_t> descendants_of(pid_t root);

}  // namespace corral::sys
