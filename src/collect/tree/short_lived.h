// ShortLived: finds exit records that belong to a run although no walk of its processes saw them,
// their memory, and usage that no parent has inherited.
//
// The kernel adds the usage of a process to its parent when that waits for it, and orphans are
// waited for by the supervisor. So the use of a process is lost only when it, or the one below
// which it was, is the child of a process that ignores SIGCHLD. Records of one interval are added,
// then resolved. No allocation after the start; one thread.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "collect/tree/exit_records.h"

namespace corral::collect::tree {

class ShortLived {
 public:
  static constexpr std::size_t kMost = 8192;  // threads in an interval; the rest is left out

  // Questions about processes.
  class Family {
   public:
    virtual ~Family() = default;
    // A walk saw it: its usage, and that of reaped children, is counted already.
    [[nodiscard]] virtual bool is_known(pid_t process) const = 0;
    [[nodiscard]] virtual bool is_supervisor(pid_t process) const = 0;
    // Started by the supervisor for itself.
    [[nodiscard]] virtual bool is_helper(pid_t process) const = 0;
    // The usage of its children is inherited by none.
    [[nodiscard]] virtual bool ignores_children(pid_t process) = 0;
  };

  ShortLived() { records_.reserve(kMost); }
  void add(const ExitRecord& record) {
    left_out_ = left_out_ || records_.size() == kMost;
    if (records_.size() < kMost) records_.push_back(record);
  }
  // Returns true if there were more than kMost since the last call.
  [[nodiscard]] bool left_out() { return std::exchange(left_out_, false); }
  // Adds the run's to the totals and forgets all.
  void resolve(Family& family);
  // Returns the sum of the losses so far, except the peak: that is the maximum over all processes
  // of the run; `process` and `parent` are unused.
  [[nodiscard]] const ExitRecord& totals() const { return totals_; }

 private:
  [[nodiscard]] const ExitRecord* find(pid_t process) const;
  enum class Fate : std::uint8_t { kForeign, kCounted, kLost };
  [[nodiscard]] Fate fate_of(const ExitRecord& record, Family& family) const;

  std::vector<ExitRecord> records_;  // records of threads, by process once resolved
  ExitRecord totals_;
  bool left_out_ = false;
};

}  // namespace corral::collect::tree
