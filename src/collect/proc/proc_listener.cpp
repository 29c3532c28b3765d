#include "collect/proc/proc_listener.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "collect/key_value_file.h"
#include "collect/proc/parse.h"
#include "collect/proc/pressure_reader.h"
#include "collect/proc_file.h"
#include "core/text.h"
#include "sys/fd.h"
#include "sys/file.h"

namespace corral::collect {
namespace proc {

void PacedTime::set(Row& row, double seconds, double cpus) {
  const BootTime now = row.time();
  const bool follows = at_ != BootTime{} && now > at_;
  const double most = told_ + cpus * corral::seconds(now - at_);
  told_ = follows ? std::min(seconds, most) : seconds;
  at_ = now;
  row.set(column_, told_);
}

namespace {

constexpr double kSectorBytes = 512;
constexpr double kMilli = 1e-3;
constexpr std::size_t kMostOwnFiles = 16;  // most files of disks that are kept open

double number(std::uint64_t n) { return static_cast<double>(n); }

// Both lists have the kernel's order as a rule: the search starts where the last one ended.
template <class Item, class Line>
const Line* find_line(const Item& item, std::span<const Line> lines, std::size_t& next) {
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const std::size_t at = (next + i) % lines.size();
    if (lines[at].name != item.name) continue;
    next = at + 1;
    return &lines[at];
  }
  return nullptr;
}

constexpr auto kTickMetrics = std::to_array<NumberMetric<CpuTicks>>({
    {"host.cpu.irq", &CpuTicks::irq},
    {"host.cpu.iowait", &CpuTicks::iowait},
    {"host.cpu.steal", &CpuTicks::steal},
});
constexpr auto kStatMetrics = std::to_array<NumberMetric<StatFile>>({
    {"host.processes.running", &StatFile::running},
    {"host.processes.blocked", &StatFile::blocked},
    {"host.scheduler.context_switches", &StatFile::context_switches},
    {"host.scheduler.interrupts", &StatFile::interrupts},
    {"host.scheduler.forks", &StatFile::forks},
});

class StatReader {
 public:
  StatReader(const std::filesystem::path& root, SeriesTable& table)
      : file_(open_or_report(root / "proc/stat", "host.cpu.*", table)),
        tick_seconds_(1.0 / static_cast<double>(::sysconf(_SC_CLK_TCK))) {
    if (!file_) return;
    const std::string_view text = file_->read();
    parsed_.resize(static_cast<std::size_t>(std::ranges::count(text, '\n')) + 1);
    parsed_.resize(parse_stat(text, parsed_).cores);
    declare(table);
  }

  void sample(Row& row) {
    if (!file_) return;
    const StatFile stat = parse_stat(file_->read(), parsed_);
    for (std::size_t i = 0, at = 0; i < stat.cores; ++i) {
      while (at < cores_.size() && cores_[at].cpu < parsed_[i].cpu) ++at;
      if (at < cores_.size() && cores_[at].cpu == parsed_[i].cpu) {
        cores_[at].busy.set(row, number(parsed_[i].ticks.busy()) * tick_seconds_, 1);
      }
    }
    if (!stat.complete) return;
    const auto cpus = static_cast<double>(stat.cores);
    busy_.set(row, number(stat.total.busy()) * tick_seconds_, cpus);
    user_.set(row, number(stat.total.user) * tick_seconds_, cpus);
    system_.set(row, number(stat.total.system) * tick_seconds_, cpus);
    for (std::size_t i = 0; i < ticks_.size(); ++i)
      row.set(ticks_[i], number(stat.total.*kTickMetrics[i].number) * tick_seconds_);
    set_columns(kStatMetrics, stat, counts_, row);
  }

 private:
  struct Core {
    std::uint64_t cpu;
    PacedTime busy;
  };

  void declare(SeriesTable& table) {
    busy_ = PacedTime(table.add("host.cpu.busy"));
    user_ = PacedTime(table.add("host.cpu.user"));
    system_ = PacedTime(table.add("host.cpu.system"));
    add_columns(kTickMetrics, "", ticks_, table);
    add_columns(kStatMetrics, "", counts_, table);
    for (const CoreTicks& core : parsed_) {
      cores_.push_back(
          {.cpu = core.cpu,
           .busy = PacedTime(table.add("host.cpu.core.busy", "cpu" + std::to_string(core.cpu)))});
    }
  }

  std::optional<ProcFile> file_;
  double tick_seconds_;
  std::vector<Core> cores_;
  std::vector<CoreTicks> parsed_;
  PacedTime busy_{kNoColumn}, user_{kNoColumn}, system_{kNoColumn};
  std::array<Column, kTickMetrics.size()> ticks_{};
  std::array<Column, kStatMetrics.size()> counts_{};
};

class LoadReader {
 public:
  LoadReader(const std::filesystem::path& root, SeriesTable& table)
      : file_(open_or_report(root / "proc/loadavg", "host.load.*", table)) {
    if (!file_) return;
    one_ = table.add("host.load.1m");
    five_ = table.add("host.load.5m");
    fifteen_ = table.add("host.load.15m");
    threads_ = table.add("host.threads");
  }

  void sample(Row& row) {
    LoadAverage load;
    if (!file_ || !parse_loadavg(file_->read(), load)) return;
    row.set(one_, load.one);
    row.set(five_, load.five);
    row.set(fifteen_, load.fifteen);
    row.set(threads_, load.threads);
  }

 private:
  std::optional<ProcFile> file_;
  Column one_ = kNoColumn, five_ = kNoColumn, fifteen_ = kNoColumn, threads_ = kNoColumn;
};

constexpr auto kDiskMetrics = std::to_array<NumberMetric<DiskLine>>({
    {"host.disk.read", &DiskLine::sectors_read, kSectorBytes},
    {"host.disk.write", &DiskLine::sectors_written, kSectorBytes},
    {"host.disk.reads", &DiskLine::reads},
    {"host.disk.writes", &DiskLine::writes},
    {"host.disk.busy", &DiskLine::busy_ms, kMilli},
    {"host.disk.queue", &DiskLine::queue_ms, kMilli},
});

// /proc/diskstats has a line for each device and partition there is; where few of them are
// recorded, these disks' own files in /sys/block tell the same for less.
class DiskReader {
 public:
  DiskReader(const std::filesystem::path& root, SeriesTable& table)
      : file_(open_or_report(root / "proc/diskstats", "host.disk.*", table)) {
    if (!file_) return;
    const std::string_view text = file_->read();
    const auto lines = static_cast<std::size_t>(std::ranges::count(text, '\n'));
    parsed_.resize(lines + 32);
    const std::size_t count = parse_diskstats(text, parsed_);
    if (count == 0) table.unavailable("host.disk.*", "no whole disk in /proc/diskstats");
    for (std::size_t i = 0; i < count; ++i) {
      Disk& disk = disks_.emplace_back();
      disk.name = parsed_[i].name;
      add_columns(kDiskMetrics, disk.name, disk.columns, table);
    }
    if (count <= kMostOwnFiles && 2 * count <= lines) open_own_files(root);
  }

  void sample(Row& row) {
    if (!file_) {
      DiskLine line;
      for (Disk& disk : disks_) {
        if (disk.read_own(line)) set_columns(kDiskMetrics, line, disk.columns, row);
      }
      return;
    }
    const std::span<const DiskLine> lines(parsed_.data(), parse_diskstats(file_->read(), parsed_));
    std::size_t next = 0;
    for (const Disk& disk : disks_) {
      const DiskLine* line = find_line(disk, lines, next);
      if (line != nullptr) set_columns(kDiskMetrics, *line, disk.columns, row);
    }
  }

 private:
  struct Disk {
    std::string name;
    std::array<Column, kDiskMetrics.size()> columns{};
    std::string path = {};  // path of its own file
    sys::Fd file = {};
    // Opened again when a disk was taken out.
    bool read_own(DiskLine& line);
  };

  void open_own_files(const std::filesystem::path& root) {
    for (Disk& disk : disks_) {
      std::string name = disk.name;
      std::ranges::replace(name, '/', '!');  // as the kernel does
      disk.path = (root / "sys/block" / name / "stat").string();
      DiskLine line;
      if (!disk.read_own(line)) return;
    }
    file_.reset();
  }

  std::optional<ProcFile> file_;  // none: each disk has its own
  std::vector<Disk> disks_;
  std::vector<DiskLine> parsed_;
};

constexpr auto kNetMetrics = std::to_array<NumberMetric<NetLine>>({
    {"host.net.rx", &NetLine::rx_bytes},
    {"host.net.tx", &NetLine::tx_bytes},
    {"host.net.rx_packets", &NetLine::rx_packets},
    {"host.net.tx_packets", &NetLine::tx_packets},
    {"host.net.rx_errors", &NetLine::rx_errors},
    {"host.net.tx_errors", &NetLine::tx_errors},
    {"host.net.rx_drops", &NetLine::rx_drops},
    {"host.net.tx_drops", &NetLine::tx_drops},
});

// The speed of a link; virtual interfaces name one that is nobody's.
void describe_link(const std::filesystem::path& root, const std::string& name, SeriesTable& table) {
  const auto directory = root / "sys/class/net" / name;
  std::error_code error;
  if (!std::filesystem::exists(directory / "device", error)) return;
  const auto text = sys::read_file(directory / "speed");  // Mbit/s; -1 or an error: not known
  const auto speed = text ? parse_double(text->substr(0, text->find('\n'))) : std::nullopt;
  if (speed && *speed > 0)
    table.describe(name + ".link_bytes_per_second", fmt::format("{:.0f}", *speed * 1e6 / 8));
}

class NetReader {
 public:
  NetReader(const std::filesystem::path& root, SeriesTable& table)
      : file_(open_or_report(root / "proc/net/dev", "host.net.*", table)) {
    if (!file_) return;
    const std::string_view text = file_->read();
    parsed_.resize(static_cast<std::size_t>(std::ranges::count(text, '\n')) + 32);
    const std::size_t count = parse_net_dev(text, parsed_);
    for (std::size_t i = 0; i < count; ++i) {
      Interface& interface = interfaces_.emplace_back();
      interface.name = parsed_[i].name;
      add_columns(kNetMetrics, interface.name, interface.columns, table);
      describe_link(root, interface.name, table);
    }
  }

  void sample(Row& row) {
    if (!file_) return;
    const std::span<const NetLine> lines(parsed_.data(), parse_net_dev(file_->read(), parsed_));
    std::size_t next = 0;
    for (const Interface& interface : interfaces_) {
      const NetLine* line = find_line(interface, lines, next);
      if (line != nullptr) set_columns(kNetMetrics, *line, interface.columns, row);
    }
  }

 private:
  struct Interface {
    std::string name;
    std::array<Column, kNetMetrics.size()> columns{};
  };
  std::optional<ProcFile> file_;
  std::vector<Interface> interfaces_;
  std::vector<NetLine> parsed_;
};

bool DiskReader::Disk::read_own(DiskLine& line) {
  if (!file) file = sys::Fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::array<char, 512> text;
  const std::ptrdiff_t size = file ? read_record(file.get(), text) : -1;
  if (size < 0) file.reset();
  return size > 0 && parse_disk_stat({text.data(), static_cast<std::size_t>(size)}, line);
}

KeyValueFile open_memory(const std::filesystem::path& root, SeriesTable& table) {
  constexpr double kKib = 1024;
  constexpr auto kLines = std::to_array<KeyValueFile::Line>({
      {"MemTotal", "host.memory.total", kKib},
      {"MemFree", "host.memory.free", kKib},
      {"MemAvailable", "host.memory.available", kKib},
      {"MemAvailable", "host.memory.used", kKib, "MemTotal"},
      {"Buffers", "host.memory.buffers", kKib},
      {"Cached", "host.memory.cached", kKib},
      {"SwapTotal", "host.swap.total", kKib},
      {"SwapFree", "host.swap.used", kKib, "SwapTotal"},
      {"Dirty", "host.memory.dirty", kKib},
      {"Writeback", "host.memory.writeback", kKib},
      {"AnonPages", "host.memory.anonymous", kKib},
      {"Mapped", "host.memory.mapped", kKib},
      {"Shmem", "host.memory.shared", kKib},
      {"Slab", "host.memory.slab", kKib},
      {"PageTables", "host.memory.page_tables", kKib},
      {"Committed_AS", "host.memory.committed", kKib},
  });
  KeyValueFile file(open_or_report(root / "proc/meminfo", "host.memory.*", table));
  file.add(kLines, "", table, KeyValueFile::Missing::kReported);
  return file;
}

KeyValueFile open_paging(const std::filesystem::path& root, SeriesTable& table) {
  constexpr double kKib = 1024;
  const auto lines = std::to_array<KeyValueFile::Line>({
      {"pgpgin", "host.paging.in", kKib},
      {"pgpgout", "host.paging.out", kKib},
      {"pswpin", "host.paging.swap_in", page_bytes()},
      {"pswpout", "host.paging.swap_out", page_bytes()},
      {"pgfault", "host.paging.faults"},
      {"pgmajfault", "host.paging.major_faults"},
      {"oom_kill", "host.paging.oom_kills"},
  });
  KeyValueFile file(open_or_report(root / "proc/vmstat", "host.paging.*", table));
  file.add(lines, "", table, KeyValueFile::Missing::kReported);
  return file;
}

class ProcListener final : public Listener {
 public:
  ProcListener(const std::filesystem::path& root, SeriesTable& table)
      : stat_(root, table),
        load_(root, table),
        memory_(open_memory(root, table)),
        paging_(open_paging(root, table)),
        disks_(root, table),
        net_(root, table) {
    for (const std::string resource : {"cpu", "memory", "io"}) {
      // The kernel defines no system-wide "full" for CPUs and writes 0 there.
      pressure_.add({.path = root / "proc/pressure" / resource,
                     .metric = "host.pressure." + resource,
                     .has_full = resource != "cpu"},
                    table);
    }
  }

  void sample_fast(Row& row) override {
    stat_.sample(row);
    load_.sample(row);
    memory_.sample(row);
    paging_.sample(row);
    disks_.sample(row);
    net_.sample(row);
    pressure_.sample(row);
  }

 private:
  StatReader stat_;
  LoadReader load_;
  KeyValueFile memory_;
  KeyValueFile paging_;
  DiskReader disks_;
  NetReader net_;
  PressureReader pressure_;
};

}  // namespace
}  // namespace proc

std::unique_ptr<Listener> open_proc_listener(const ListenerContext& context, SeriesTable& table) {
  return std::make_unique<proc::ProcListener>(context.root, table);
}

}  // namespace corral::collect
