// A control group for a run without limits: it counts the usage of the run's processes, those that
// have ended included, and does not change how they run (run_group.h).
//
// If this user may not create a group, a scope is requested from their systemd; it counts as well,
// if the command belongs to that systemd already and has no limits of its own.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "collocate/journal/journal.h"
#include "core/result.h"
#include "core/time.h"

namespace corral::collocate {

struct AccountOptions {
  fs::path root = "/";  // /proc, /sys; for tests
  std::string label;    // the run's id, a part of the group's name
  std::string busctl;   // replaces the program in PATH; for tests
  // Time limit for systemd; after it the run has no group.
  Nanos patience{std::chrono::milliseconds(250)};
};

// The run's group. Removed by put_back of the journal it was noted in, or undo_all.
class AccountGroup {
 public:
  // Before a process is moved the kernel waits for a grace period of RCU, some milliseconds, and
  // then not again for a similar time. This call triggers that wait before the run's process
  // exists.
  void await_grace() const;
  // Moves a process into the group, before its exec, so that all its usage is counted. A scope
  // contains it when this returns, unless systemd takes longer than the time limit.
  Result<> enter(pid_t pid);
  // Moves processes that outlived the run to where they would be without the group, which can then
  // be removed. Processes in groups that the run made below its own stay there.
  void release_members() const;
  // Returns the directories joined by ':'; empty for a scope, which is found by the process's
  // membership.
  [[nodiscard]] const std::string& target() const { return target_; }

 private:
  friend Result<AccountGroup> account_group(Journal& journal, const AccountOptions& options);
  struct Directory {
    fs::path group;
    fs::path home;  // the group from which its members come
  };
  std::string target_;
  std::vector<Directory> directories_;
  std::string scope_;   // unit; empty: groups of our own
  std::string busctl_;  // the program that requests the scope
  fs::path root_;
  Nanos patience_{0};
};

// Returns the program that requests scopes from this user's systemd; the error explains why there
// is none.
Result<std::string> scope_tool();

// Makes the group; the error explains to the user why there is none. Groups end at a reboot: the
// journal need not be synced.
Result<AccountGroup> account_group(Journal& journal, const AccountOptions& options);

}  // namespace corral::collocate
