// ExitRecords: the kernel's record of every thread that ends (taskstats, by generic netlink), for
// processes that no walk of the ProcessTable sees.
//
// The kernel sends them to processes with CAP_NET_ADMIN, in the first PID and user namespace.
// drain() takes available records without waiting and without allocating; records that come faster
// than they are drained are lost and counted. One thread.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "collect/tree/parse.h"
#include "core/result.h"
#include "sys/fd.h"

namespace corral::collect::tree {

// A thread that has ended; its own usage, without its children's.
struct ExitRecord {
  pid_t process = 0;
  pid_t parent = 0;  // process
  Counters counters{};
  std::uint64_t peak_resident_kib = 0;  // peak of its process
};

// A struct taskstats of thread `thread`, of any version from 12 on (Linux 5.19), the first that
// names the process. Nothing for an older one, a shorter one, and one that does not hold the
// thread's number where this layout has it.
std::optional<ExitRecord> parse_taskstats(std::string_view bytes, pid_t thread);
// A record that cannot be read.
struct UnreadRecord {
  unsigned version = 0;
  std::size_t bytes = 0;
};
// Why not, written into `room`.
std::string_view describe_unread(const UnreadRecord& record, std::span<char> room);
// Each record of one datagram; others of its messages are passed over. Returns the last that could
// not be read.
std::optional<UnreadRecord> read_exit_records(std::string_view datagram,
                                              const std::function<void(const ExitRecord&)>& take);

class ExitRecords {
 public:
  // Registers for all CPUs. kPermission, kUnsupported or kUnavailable say why there are none; a
  // kernel whose records cannot be read is found out by asking for this thread's own.
  static Result<ExitRecords> open();

  void drain(const std::function<void(const ExitRecord&)>& take);
  // Returns true if records were lost since the last call.
  [[nodiscard]] bool lost() { return std::exchange(lost_, false); }
  // One that could not be read since the last call.
  [[nodiscard]] std::optional<UnreadRecord> unread() { return std::exchange(unread_, {}); }

 private:
  explicit ExitRecords(sys::Fd socket);
  sys::Fd socket_;
  std::unique_ptr<char[]> room_;  // pages that nothing is read into take no memory
  std::span<char> buffer_;        // all of it
  bool lost_ = false;
  std::optional<UnreadRecord> unread_;
};

// ShortLived: finds exit records that belong to a run although no walk of its processes saw them,
// their memory, and usage that no parent has inherited.
//
// The kernel adds the usage of a process to its parent when that waits for it, and orphans are
// waited for by the supervisor. So the use of a process is lost only when it, or the one below
// which it was, is the child of a process that ignores SIGCHLD. Records of one interval are added,
// then resolved. No allocation after the start; one thread.
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
  [[nodiscard]] Fate find_fate(const ExitRecord& record, Family& family) const;

  std::vector<ExitRecord> records_;  // records of threads, by process once resolved
  ExitRecord totals_;
  bool left_out_ = false;
};

}  // namespace corral::collect::tree
