#include "collect/tree/parse.h"

#include <signal.h>

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

}  // namespace corral::collect::tree
