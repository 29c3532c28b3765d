// Parsers of the host's /proc files: text in, numbers out; no I/O, no allocation, any bytes
// accepted.
//
// Numbers are the kernel's own (clock ticks, KiB, sectors, us); the listener turns them into SI
// units. Names are views into the text. A parser that fills a span stops when the span is full and
// returns how many it filled.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace corral::collect::proc {

// Clock ticks (sysconf(_SC_CLK_TCK), 10 ms as a rule). Guest time is part of user time already.
struct CpuTicks {
  std::uint64_t user = 0;  // nice included
  std::uint64_t system = 0;
  std::uint64_t irq = 0;  // hard and soft
  std::uint64_t iowait = 0;
  std::uint64_t steal = 0;

  [[nodiscard]] std::uint64_t busy() const { return user + system + irq; }
};

struct CoreTicks {
  std::uint64_t cpu = 0;  // its number; CPUs that are offline leave gaps
  CpuTicks ticks;
};

struct StatFile {
  CpuTicks total;
  std::uint64_t context_switches = 0;
  std::uint64_t interrupts = 0;
  std::uint64_t forks = 0;
  std::uint64_t running = 0;
  std::uint64_t blocked = 0;
  std::size_t cores = 0;  // filled in the span
  bool complete = false;  // all of the above were there
};
StatFile parse_stat(std::string_view text, std::span<CoreTicks> cores);

struct LoadAverage {
  double one = 0;
  double five = 0;
  double fifteen = 0;
  std::uint64_t runnable = 0;
  std::uint64_t threads = 0;
};
bool parse_loadavg(std::string_view text, LoadAverage& out);

struct DiskLine {
  std::string_view name;
  std::uint64_t reads = 0;
  std::uint64_t sectors_read = 0;  // in units of 512 B, independent of the disk's own sectors
  std::uint64_t writes = 0;
  std::uint64_t sectors_written = 0;
  std::uint64_t busy_ms = 0;
  std::uint64_t queue_ms = 0;
};
// Lines of whole disks only (is_whole_disk); malformed lines are passed over.
std::size_t parse_diskstats(std::string_view text, std::span<DiskLine> out);
// The same of one disk, from its own file in /sys/block; `name` is left alone.
bool parse_disk_stat(std::string_view text, DiskLine& out);
// By the kernel's naming: no partitions, no loop, RAM, optical or floppy drives, no dm and md
// devices that repeat their members.
bool is_whole_disk(std::string_view name);

struct NetLine {
  std::string_view name;
  std::uint64_t rx_bytes = 0;
  std::uint64_t rx_packets = 0;
  std::uint64_t rx_errors = 0;
  std::uint64_t rx_drops = 0;
  std::uint64_t tx_bytes = 0;
  std::uint64_t tx_packets = 0;
  std::uint64_t tx_errors = 0;
  std::uint64_t tx_drops = 0;
};
// Lines of interfaces that is_recorded_interface() keeps; malformed lines are passed over.
std::size_t parse_net_dev(std::string_view text, std::span<NetLine> out);
// Not the host's ends of containers' links, nor tunnels and dummies that exist unused by default.
bool is_recorded_interface(std::string_view name);

struct Pressure {
  std::uint64_t some_us = 0;
  std::uint64_t full_us = 0;
  bool has_some = false;
  bool has_full = false;
};
Pressure parse_pressure(std::string_view text);

}  // namespace corral::collect::proc
