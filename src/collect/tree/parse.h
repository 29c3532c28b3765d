// Parsers of /proc/PID files: text in, numbers out; no I/O, no allocation, any bytes accepted.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace corral::collect::tree {

// The usage of a process or of several.
enum Counter : std::size_t {
  kUserMicros,
  kSystemMicros,
  kMinorFaults,
  kMajorFaults,
  kReadSyscallBytes,
  kWriteSyscallBytes,
  kReadSyscalls,
  kWriteSyscalls,
  kReadBlockBytes,
  kWriteBlockBytes,
  kCounterCount,
};
using Counters = std::array<std::uint64_t, kCounterCount>;
inline void add_to(Counters& sum, const Counters& more) {
  for (std::size_t i = 0; i < kCounterCount; ++i) sum[i] += more[i];
}

struct ProcessStat {
  // A view into the text; may hold any bytes, spaces and parentheses included.
  std::string_view comm;
  char state = '?';
  pid_t pid = 0;
  pid_t parent = 0;
  pid_t session = 0;
  std::uint64_t start_time = 0;  // clock ticks since boot; with the pid it names a process for ever
  std::uint64_t threads = 0;
  // CPU time of the process, its exited threads and the children that it reaped, theirs included.
  std::uint64_t user_ticks = 0;
  std::uint64_t system_ticks = 0;
  // Without those children.
  std::uint64_t own_user_ticks = 0;
  std::uint64_t own_system_ticks = 0;
  std::uint64_t minor_faults = 0;
  std::uint64_t major_faults = 0;
};
bool parse_process_stat(std::string_view text, ProcessStat& out);

// Resident pages of /proc/PID/statm.
bool parse_statm(std::string_view text, std::uint64_t& resident_pages);

// /proc/PID/io: of the process, its exited threads and the children that it reaped. Sets the last
// six, or none of them.
bool parse_process_io(std::string_view text, Counters& out);

// /proc/PID/status, in KiB; 0 if missing (zombies, kernel threads).
struct StatusMemory {
  std::uint64_t peak_resident_kib = 0;  // so far
  std::uint64_t hugetlb_kib = 0;        // not part of resident memory
};
StatusMemory parse_status_memory(std::string_view text);

// Returns true if, by the same file, the process ignores SIGCHLD, so that the kernel reaps its
// children.
bool parse_ignores_children(std::string_view text);

// /proc/PID/task/TID/children. Stops when `out` is full; returns how many it filled.
std::size_t parse_children(std::string_view text, std::span<pid_t> out);

// /proc/PID/task/TID/schedstat, in ns.
struct ThreadTimes {
  std::uint64_t cpu = 0;
  std::uint64_t run_delay = 0;  // ready, but without a CPU
};
bool parse_schedstat(std::string_view text, ThreadTimes& out);

// The thing that a thread without work waits for, by its system call.
enum class Wait : std::uint8_t {
  kLock,    // futex, semaphore
  kFile,    // a file, or a page of memory that is not there yet
  kPipe,    // a pipe or socket: another process
  kDevice,  // ioctl: a driver
  kOther,   // time, poll, a child, anything else
};
inline constexpr std::size_t kWaits = 5;

// /proc/PID/task/TID/syscall of this machine's architecture.
struct ThreadCall {
  bool running = false;  // on a CPU or ready for one; the rest is not set
  Wait wait = Wait::kOther;
  // Set if the call reads or writes a descriptor, which may also be a pipe or a socket.
  std::optional<std::uint64_t> descriptor;
};
bool parse_syscall(std::string_view text, ThreadCall& out);

}  // namespace corral::collect::tree
