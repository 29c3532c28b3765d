// The readers behind listener "proc": each keeps one file (pressure: three), declares its series at
// open and fills them in sample(). A file that cannot be read is reported to the table and then
// costs nothing.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "collect/proc/parse.h"
#include "collect/proc_file.h"
#include "collect/series.h"
#include "sys/fd.h"

namespace corral::collect::proc {

// CPU time that rises no faster than its CPUs can work. The kernel counts it in ticks, so that two
// readings may differ by a tick too much for each CPU; that is left to the next reading.
class PacedTime {
 public:
  explicit PacedTime(Column column) : column_(column) {}
  void set(Row& row, double seconds, double cpus);

 private:
  Column column_;
  double told_ = 0;
  BootTime at_{};
};

class StatReader {
 public:
  StatReader(const std::filesystem::path& root, SeriesTable& table);
  void sample(Row& row);

 private:
  struct Core {
    std::uint64_t cpu;
    PacedTime busy;
  };
  void declare(SeriesTable& table);

  std::optional<ProcFile> file_;
  double tick_seconds_;
  std::vector<Core> cores_;
  std::vector<CoreTicks> parsed_;
  PacedTime busy_{kNoColumn}, user_{kNoColumn}, system_{kNoColumn};
  Column irq_ = kNoColumn, iowait_ = kNoColumn, steal_ = kNoColumn;
  Column running_ = kNoColumn, blocked_ = kNoColumn, switches_ = kNoColumn, interrupts_ = kNoColumn,
         forks_ = kNoColumn;
};

class LoadReader {
 public:
  LoadReader(const std::filesystem::path& root, SeriesTable& table);
  void sample(Row& row);

 private:
  std::optional<ProcFile> file_;
  Column one_ = kNoColumn, five_ = kNoColumn, fifteen_ = kNoColumn, threads_ = kNoColumn;
};

// /proc/meminfo and /proc/vmstat: lines "key value"; a table maps keys to metrics.
class KeyValueReader {
 public:
  enum class Unit : std::uint8_t { kCount, kKib, kPage };
  struct Line {
    std::string_view key;
    Unit unit;
    std::string_view metric;
    std::string_view less_of = {};  // the value is that key's less this one's
  };
  KeyValueReader(const std::filesystem::path& file, std::span<const Line> lines,
                 SeriesTable& table);
  void sample(Row& row);

 private:
  struct Output {
    Column column = kNoColumn;
    std::size_t key = 0;
    std::size_t less_of = 0;  // the same as `key`: nothing is subtracted
    double scale = 1;
  };
  void declare(const Line& line, std::uint32_t found, SeriesTable& table);
  std::size_t key_index(std::string_view key);

  std::uint32_t find();
  void note_end(std::string_view text);

  std::optional<ProcFile> file_;
  std::vector<std::string_view> keys_;
  std::vector<std::uint64_t> values_;
  std::uint32_t there_ = 0;  // the keys that the file had at the start, a bit each
  std::size_t enough_ = 0;   // bytes that hold all of these lines and some more
  std::vector<Output> outputs_;
};
KeyValueReader memory_reader(const std::filesystem::path& root, SeriesTable& table);
KeyValueReader paging_reader(const std::filesystem::path& root, SeriesTable& table);

// /proc/diskstats has a line for each device and partition there is; where few of them are
// recorded, these disks' own files in /sys/block tell the same for less.
class DiskReader {
 public:
  DiskReader(const std::filesystem::path& root, SeriesTable& table);
  void sample(Row& row);

 private:
  struct Disk {
    std::string name;
    Column read, write, reads, writes, busy, queue;
    std::string path = {};  // path of its own file
    sys::Fd file = {};
    void give(const DiskLine& line, Row& row) const;
    // Opened again when a disk was taken out.
    bool read_own(DiskLine& line);
  };
  void open_own_files(const std::filesystem::path& root);

  std::optional<ProcFile> file_;  // none: each disk has its own
  std::vector<Disk> disks_;
  std::vector<DiskLine> parsed_;
};

class NetReader {
 public:
  NetReader(const std::filesystem::path& root, SeriesTable& table);
  void sample(Row& row);

 private:
  struct Interface {
    std::string name;
    Column rx, tx, rx_packets, tx_packets, rx_errors, tx_errors, rx_drops, tx_drops;
  };
  std::optional<ProcFile> file_;
  std::vector<Interface> interfaces_;
  std::vector<NetLine> parsed_;
};

class PressureReader {
 public:
  PressureReader(const std::filesystem::path& root, SeriesTable& table);
  void sample(Row& row);

 private:
  struct Resource {
    std::optional<ProcFile> file;
    Column some = kNoColumn;
    Column full = kNoColumn;
  };
  std::array<Resource, 3> resources_;
};

}  // namespace corral::collect::proc
