// Parsers of the kernel's files about control groups: text in, values out; no I/O, any bytes
// accepted. Those for open time may allocate; those for every tick (IoTotals) do not.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace corral::collect::cgroup {

// A line of /proc/PID/cgroup.
struct Membership {
  std::vector<std::string> controllers;  // "cpu", "cpuacct"; none: the unified hierarchy (v2)
  std::string path;                      // "/user.slice/run1", as the reader's namespace sees it
};
std::vector<Membership> parse_memberships(std::string_view text);

// A mount of a hierarchy, from /proc/self/mountinfo.
struct Mount {
  bool unified = false;
  std::vector<std::string> controllers;  // v1
  std::string root;                      // the part of the hierarchy that is mounted
  std::string point;                     // mount point
};
std::vector<Mount> parse_mounts(std::string_view mountinfo);

// The location of a process's group for `controller`: in the hierarchy of v1 that has the
// controller, else in the unified one; an empty `controller` asks for that one.
struct GroupPath {
  bool unified = false;
  std::string name;      // its path in the hierarchy
  std::string point;     // mount point of the hierarchy
  std::string relative;  // path of the group below `point`; empty: `point` itself
};
std::optional<GroupPath> find_group_path(std::string_view controller,
                                         std::span<const Membership> memberships,
                                         std::span<const Mount> mounts);

// "50000 100000" of cpu.max: 0.5 cores; nothing for "max 100000" and for nonsense.
std::optional<double> parse_cpu_max(std::string_view text);

// Block device numbers whose I/O appears again at the disks below them: /proc/devices' majors of
// device-mapper, md, loop and zram.
std::vector<std::uint64_t> stacked_majors(std::string_view proc_devices);

// Sums over the devices of io.stat (v2), without those of the `skipped` majors.
struct IoTotals {
  std::uint64_t read_bytes = 0, write_bytes = 0, reads = 0, writes = 0;
};
IoTotals parse_io_stat(std::string_view text, std::span<const std::uint64_t> skipped);
// The same of a file "8:0 Read 123" of v1's blkio: its two sums.
struct ReadWrite {
  std::uint64_t read = 0, write = 0;
};
ReadWrite parse_blkio(std::string_view text, std::span<const std::uint64_t> skipped);

}  // namespace corral::collect::cgroup
