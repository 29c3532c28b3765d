// A control group for a run without limits: it counts what the run's processes use, those that have
// ended included, and changes nothing of how they run (run_group.h).
//
// Where this user may make no group, a scope of their systemd is asked for, which counts as well.
#pragma once

#include <sys/types.h>

#include <string>

#include "collocate/journal.h"
#include "core/result.h"

namespace corral::collocate {

struct AccountOptions {
  fs::path root = "/";  // /proc, /sys; for tests
  std::string label;    // of the group's name: the run's id
  std::string busctl;   // program in place of PATH's; for tests
};

// The run's group. Removed by put_back of the journal it was noted in, or undo_all.
class AccountGroup {
 public:
  // Moves a process into it, before its exec, so that nothing of it is missed.
  Result<> enter(pid_t pid);
  // Directories joined by ':'; empty for a scope, whose place is found by the process's
  // membership.
  [[nodiscard]] const std::string& target() const { return target_; }

 private:
  friend Result<AccountGroup> account_group(Journal& journal, const AccountOptions& options);
  std::string target_;
  std::string scope_;   // unit; empty: groups of our own
  std::string busctl_;  // program that is asked for it
};

// The error is what a person may read, why there is none. Groups end with the machine: a journal
// that is not synced will do.
Result<AccountGroup> account_group(Journal& journal, const AccountOptions& options);

}  // namespace corral::collocate
