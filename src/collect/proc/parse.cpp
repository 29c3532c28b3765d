#include "collect/proc/parse.h"

#include <algorithm>
#include <array>

#include "collect/scan.h"

namespace corral::collect::proc {
namespace {

constexpr std::string_view kDigits = "0123456789";

// "user nice system idle iowait irq softirq steal ..."; kernels before 2.6.11 end earlier.
bool parse_cpu_ticks(Scanner& scan, CpuTicks& out) {
  std::array<std::uint64_t, 8> field{};
  if (!scan.numbers(field)) return false;
  out = {.user = field[0] + field[1],
         .system = field[2],
         .irq = field[5] + field[6],
         .iowait = field[4],
         .steal = field[7]};
  return true;
}

bool all_digits(std::string_view text) {
  return !text.empty() && text.find_first_not_of(kDigits) == std::string_view::npos;
}

bool parse_core(std::string_view key, Scanner& scan, CoreTicks& out) {
  return all_digits(key.substr(3)) && Scanner(key.substr(3)).number(out.cpu) &&
         parse_cpu_ticks(scan, out.ticks);
}

struct StatNumber {
  std::string_view key;
  std::uint64_t StatFile::*value;
};
constexpr auto kStatNumbers = std::to_array<StatNumber>({
    {"intr", &StatFile::interrupts},
    {"ctxt", &StatFile::context_switches},
    {"processes", &StatFile::forks},
    {"procs_running", &StatFile::running},
    {"procs_blocked", &StatFile::blocked},
});

bool parse_stat_number(std::string_view key, Scanner& scan, StatFile& out) {
  for (const StatNumber& number : kStatNumbers) {
    if (number.key == key) return scan.number(out.*number.value);
  }
  return false;
}

bool starts_with_any(std::string_view name, std::span<const std::string_view> prefixes) {
  return std::ranges::any_of(prefixes, [&](std::string_view p) { return name.starts_with(p); });
}

// "nvme0n1p2", "mmcblk0p1", "nbd3p1": the disk's name ends in a digit, so that its partitions need
// a "p".
bool is_p_partition(std::string_view name) {
  const std::size_t p = name.rfind('p');
  return p != std::string_view::npos && p > 0 && all_digits(name.substr(p + 1)) &&
         kDigits.find(name[p - 1]) != std::string_view::npos;
}

// "sda1", "vdb2", "xvda15".
bool is_letter_partition(std::string_view name) {
  constexpr std::array<std::string_view, 4> kDisks{"sd", "hd", "vd", "xvd"};
  return starts_with_any(name, kDisks) && kDigits.find(name.back()) != std::string_view::npos;
}

bool parse_disk_numbers(Scanner& scan, DiskLine& out) {
  std::array<std::uint64_t, 11> field{};
  if (!scan.numbers(field)) return false;
  out.reads = field[0];
  out.sectors_read = field[2];
  out.writes = field[4];
  out.sectors_written = field[6];
  out.busy_ms = field[9];
  out.queue_ms = field[10];
  return true;
}

bool parse_disk_line(Scanner& scan, DiskLine& out) {
  if (!scan.skip_numbers(2)) return false;
  out.name = scan.word();
  return parse_disk_numbers(scan, out);
}

bool parse_net_line(Scanner& scan, NetLine& out) {
  out.name = scan.word(':');
  if (out.name.empty() || !scan.skip(':')) return false;
  std::array<std::uint64_t, 12> field{};
  if (!scan.numbers(field)) return false;
  out.rx_bytes = field[0];
  out.rx_packets = field[1];
  out.rx_errors = field[2];
  out.rx_drops = field[3];
  out.tx_bytes = field[8];
  out.tx_packets = field[9];
  out.tx_errors = field[10];
  out.tx_drops = field[11];
  return true;
}

}  // namespace

StatFile parse_stat(std::string_view text, std::span<CoreTicks> cores) {
  StatFile out;
  std::size_t found = 0;
  for (Scanner scan(text); !scan.done(); scan.line()) {
    const std::string_view key = scan.word();
    CoreTicks core;
    if (key == "cpu") {
      found += parse_cpu_ticks(scan, out.total) ? 1 : 0;
    } else if (!key.starts_with("cpu")) {
      found += parse_stat_number(key, scan, out) ? 1 : 0;
    } else if (out.cores < cores.size() && parse_core(key, scan, core)) {
      cores[out.cores++] = core;
    }
  }
  out.complete = found == 1 + kStatNumbers.size();
  return out;
}

bool parse_loadavg(std::string_view text, LoadAverage& out) {
  Scanner scan(text);
  return scan.decimal(out.one) && scan.decimal(out.five) && scan.decimal(out.fifteen) &&
         scan.number(out.runnable) && scan.skip('/') && scan.number(out.threads);
}

bool is_whole_disk(std::string_view name) {
  constexpr std::array<std::string_view, 8> kOther{"loop", "ram", "zram", "sr",
                                                   "fd",   "dm-", "md",   "scd"};
  return !name.empty() && !starts_with_any(name, kOther) &&
         name.find("boot") == std::string_view::npos && !is_p_partition(name) &&
         !is_letter_partition(name);
}

std::size_t parse_diskstats(std::string_view text, std::span<DiskLine> out) {
  std::size_t n = 0;
  for (Scanner scan(text); !scan.done() && n < out.size(); scan.line()) {
    DiskLine line;
    if (parse_disk_line(scan, line) && is_whole_disk(line.name)) out[n++] = line;
  }
  return n;
}

bool parse_disk_stat(std::string_view text, DiskLine& out) {
  Scanner scan(text);
  return parse_disk_numbers(scan, out);
}

bool is_recorded_interface(std::string_view name) {
  constexpr std::array<std::string_view, 12> kOther{"veth", "ifb",    "dummy",  "sit",
                                                    "tunl", "gre",    "erspan", "ip6tnl",
                                                    "cali", "cilium", "lxc",    "bonding_masters"};
  return !name.empty() && !starts_with_any(name, kOther);
}

std::size_t parse_net_dev(std::string_view text, std::span<NetLine> out) {
  std::size_t n = 0;
  for (Scanner scan(text); !scan.done() && n < out.size(); scan.line()) {
    NetLine line;
    if (parse_net_line(scan, line) && is_recorded_interface(line.name)) out[n++] = line;
  }
  return n;
}

Pressure parse_pressure(std::string_view text) {
  Pressure out;
  for (Scanner scan(text); !scan.done();) {
    const std::string_view line = scan.line();
    const std::size_t at = line.find("total=");
    if (at == std::string_view::npos) continue;
    Scanner value(line.substr(at + 6));
    if (line.starts_with("some ")) out.has_some = value.number(out.some_us);
    if (line.starts_with("full ")) out.has_full = value.number(out.full_us);
  }
  return out;
}

}  // namespace corral::collect::proc
