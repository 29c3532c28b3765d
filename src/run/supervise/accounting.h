// Accounting: a control group that counts the usage of a run to which no scheduler has given a
// group (collocate/account.h).
//
// It is made and entered on a thread, in parallel to the other steps of the start. If it cannot be
// made, the run goes on without it, and its facts give the reason. After a supervisor was killed,
// its group is in the undo journal; `corral undo` leaves it alone while a process of the run lives.
#pragma once

#include <sys/types.h>

#include <future>
#include <optional>
#include <string>
#include <vector>

#include "collocate/account.h"
#include "sys/file.h"

namespace corral::run {

class Accounting {
 public:
  // Begins to make the group of the run with this id.
  void begin(const std::string& run);
  // Begins to move the process, which waits before its exec, into the group. Does nothing without
  // begin().
  void enter(pid_t pid);
  // Waits until the process is in the group: a few milliseconds, with systemd at most the time
  // limit of the request.
  void settle();

  // Returns the group's directories after settle(); none for a scope of systemd.
  [[nodiscard]] std::vector<sys::fs::path> groups() const;
  // Returns the reason why there is no group; empty: there is one, or none was requested.
  [[nodiscard]] const std::string& reason() const { return reason_; }

  // Removes the group after the run. Processes that outlived the run leave it first; if some are in
  // groups of their own below, it stays for `corral undo`.
  void end();
  // Ends processes that still wait in the group; nothing was started.
  void discard();

 private:
  struct MadeGroup {
    std::optional<collocate::Journal> journal;
    std::optional<collocate::AccountGroup> group;
    std::string reason;
  };
  static MadeGroup make(const std::string& run);
  void put_back(bool end_runs);

  std::future<MadeGroup> making_;
  MadeGroup made_;
  std::string reason_;
};

}  // namespace corral::run
