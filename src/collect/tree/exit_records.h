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

#include "core/result.h"
#include "sys/fd.h"

namespace corral::collect::tree {

// A thread that has ended; its own usage, without its children's.
struct ExitRecord {
  pid_t process = 0;
  pid_t parent = 0;  // process
  std::uint64_t user_us = 0, system_us = 0;
  std::uint64_t minor_faults = 0, major_faults = 0;
  std::uint64_t read_syscall_bytes = 0, write_syscall_bytes = 0;
  std::uint64_t read_syscalls = 0, write_syscalls = 0;
  std::uint64_t read_block_bytes = 0, write_block_bytes = 0;
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
std::string_view reason_of(const UnreadRecord& record, std::span<char> room);
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

}  // namespace corral::collect::tree
