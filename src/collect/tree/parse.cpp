#include "collect/tree/parse.h"

#include <signal.h>
#include <sys/syscall.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "collect/scan.h"

namespace corral::collect::tree {
namespace {

bool next_pid(Scanner& scan, pid_t& out) {
  std::uint64_t n = 0;
  if (!scan.number(n)) return false;
  out = static_cast<pid_t>(n);
  return true;
}

// Fields 5 to 22 may be negative (tty_nr, tpgid, priority, nice): words that are no number count as
// 0.
std::uint64_t number_or_zero(std::string_view word) {
  std::uint64_t n = 0;
  Scanner(word).number(n);
  return n;
}

constexpr auto kLockCalls = std::to_array<long>(
    {SYS_futex, 449 /* futex_waitv */, 455 /* futex_wait */, SYS_semop, SYS_semtimedop});
constexpr auto kSocketCalls =
    std::to_array<long>({SYS_recvfrom, SYS_recvmsg, SYS_recvmmsg, SYS_sendto, SYS_sendmsg,
                         SYS_sendmmsg, SYS_accept, SYS_accept4, SYS_connect});
// Calls on files alone.
constexpr auto kFileCalls = std::to_array<long>({
    SYS_fsync,      SYS_fdatasync,    SYS_sync,          SYS_syncfs,         SYS_sync_file_range,
    SYS_msync,      SYS_openat,       SYS_newfstatat,    SYS_fstat,          SYS_statx,
    SYS_getdents64, SYS_mkdirat,      SYS_unlinkat,      SYS_renameat2,      SYS_fallocate,
    SYS_ftruncate,  SYS_io_getevents, SYS_io_pgetevents, SYS_io_uring_enter, SYS_copy_file_range,
#ifdef SYS_open  // x86
    SYS_open,       SYS_stat,         SYS_lstat,
#endif
});
// Their first argument is a descriptor of any kind.
constexpr auto kDescriptorCalls =
    std::to_array<long>({SYS_read, SYS_pread64, SYS_readv, SYS_preadv, SYS_preadv2, SYS_write,
                         SYS_pwrite64, SYS_writev, SYS_pwritev, SYS_pwritev2, SYS_sendfile});

}  // namespace

bool parse_process_stat(std::string_view text, ProcessStat& out) {
  const std::size_t open = text.find('(');
  const std::size_t close =
      text.rfind(')');  // comm may hold ") (" itself, the fields after it cannot
  if (open == std::string_view::npos || close == std::string_view::npos || close < open)
    return false;
  Scanner head(text.substr(0, open));
  if (!next_pid(head, out.pid)) return false;
  out.comm = text.substr(open + 1, close - open - 1);

  Scanner scan(text.substr(close + 1));
  const std::string_view state = scan.word();
  if (state.empty()) return false;
  out.state = state.front();
  // Field numbers as in proc(5): state is 3, ppid 4, start time 22.
  constexpr std::size_t kFirst = 4;
  constexpr std::size_t kLast = 22;
  std::array<std::uint64_t, kLast + 1> field{};
  for (std::size_t i = kFirst; i <= kLast; ++i) {
    const std::string_view word = scan.word();
    if (word.empty()) return false;
    field[i] = number_or_zero(word);
  }
  out.parent = static_cast<pid_t>(field[4]);
  out.session = static_cast<pid_t>(field[6]);
  out.minor_faults = field[10] + field[11];
  out.major_faults = field[12] + field[13];
  out.user_ticks = field[14] + field[16];
  out.system_ticks = field[15] + field[17];
  out.own_user_ticks = field[14];
  out.own_system_ticks = field[15];
  out.threads = field[20];
  out.start_time = field[22];
  return true;
}

bool parse_statm(std::string_view text, std::uint64_t& resident_pages) {
  Scanner scan(text);
  return scan.skip_numbers(1) && scan.number(resident_pages);
}

bool parse_process_io(std::string_view text, Counters& out) {
  constexpr std::array<std::string_view, 6> kKeys{"rchar", "wchar",      "syscr",
                                                  "syscw", "read_bytes", "write_bytes"};
  static_assert(kReadSyscallBytes + kKeys.size() == kCounterCount);
  std::array<std::uint64_t, kKeys.size()> value{};
  if (find_values(text, kKeys, value) != (1u << kKeys.size()) - 1) return false;
  std::ranges::copy(value, out.begin() + kReadSyscallBytes);
  return true;
}

StatusMemory parse_status_memory(std::string_view text) {
  constexpr std::array<std::string_view, 2> kKeys{"VmHWM", "HugetlbPages"};
  std::array<std::uint64_t, kKeys.size()> value{};
  find_values(text, kKeys, value);
  return {.peak_resident_kib = value[0], .hugetlb_kib = value[1]};
}

bool parse_ignores_children(std::string_view text) {
  constexpr std::string_view kKey = "\nSigIgn:\t";
  const std::size_t at = text.find(kKey);
  if (at == std::string_view::npos) return false;
  std::uint64_t mask = 0;
  const std::string_view digits = text.substr(at + kKey.size());
  const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), mask, 16);
  return read.ec == std::errc() && (mask >> (SIGCHLD - 1) & 1u) != 0;
}

std::size_t parse_children(std::string_view text, std::span<pid_t> out) {
  Scanner scan(text);
  std::size_t n = 0;
  while (n < out.size() && next_pid(scan, out[n])) ++n;
  return n;
}

bool parse_schedstat(std::string_view text, ThreadTimes& out) {
  Scanner scan(text);
  std::array<std::uint64_t, 2> times{};
  if (!scan.numbers(times)) return false;
  out = {.cpu = times[0], .run_delay = times[1]};
  return true;
}

bool parse_syscall(std::string_view text, ThreadCall& out) {
  Scanner scan(text);
  out = {};
  if (text.starts_with("running")) {
    out.running = true;
    return true;
  }
  // "-1 SP PC": it waits outside of a call, so for a page; or it was stopped.
  if (text.starts_with("-1 ")) {
    out.wait = Wait::kFile;
    return true;
  }
  std::uint64_t call = 0;
  if (!scan.number(call)) return false;
  const auto number = static_cast<long>(std::min<std::uint64_t>(call, 1U << 20));
  const auto is_in = [number](std::span<const long> calls) {
    return std::ranges::find(calls, number) != calls.end();
  };
  if (is_in(kLockCalls)) out.wait = Wait::kLock;
  if (is_in(kSocketCalls)) out.wait = Wait::kPipe;
  if (is_in(kFileCalls)) out.wait = Wait::kFile;
  if (number == SYS_ioctl) out.wait = Wait::kDevice;
  if (!is_in(kDescriptorCalls)) return true;
  out.wait = Wait::kFile;
  const std::string_view word = scan.word();
  std::uint64_t descriptor = 0;
  if (!word.starts_with("0x")) return true;
  const auto read = std::from_chars(word.data() + 2, word.data() + word.size(), descriptor, 16);
  if (read.ec == std::errc()) out.descriptor = descriptor;
  return true;
}

}  // namespace corral::collect::tree
