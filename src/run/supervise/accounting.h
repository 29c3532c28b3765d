// Accounting: a control group that counts what a run uses, for one that no scheduler has given a
// group (collocate/account.h).
//
// It is made and entered on a thread beside the start's other steps. Where it cannot be had the run
// goes without, and its facts say why. Whoever comes after a supervisor that was killed finds it in
// the undo journal (`corral undo`), which leaves it alone while a process of the run lives.
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
  // Begins to make the group of this run, by its id.
  void begin(const std::string& run);
  // The process, which waits before its exec, begins to enter it. Without begin() nothing happens.
  void enter(pid_t pid);
  // Waits until it has: a few milliseconds, where systemd is asked at most its patience.
  void settle();

  // After settle(): its directories; none for a scope of systemd's.
  [[nodiscard]] std::vector<sys::fs::path> groups() const;
  // Why there is none; empty: there is one, or none was wanted.
  [[nodiscard]] const std::string& reason() const { return reason_; }

  // The run is over: takes the group away. Processes that outlived it leave it first; those in
  // groups of their own below keep it, for `corral undo`.
  void end();
  // Nothing was started: ends who still waits in it.
  void discard();

 private:
  struct Made {
    std::optional<collocate::Journal> journal;
    std::optional<collocate::AccountGroup> group;
    std::string reason;
  };
  static Made make(const std::string& run);
  void put_back(bool end_runs);

  std::future<Made> making_;
  Made made_;
  std::string reason_;
};

}  // namespace corral::run
