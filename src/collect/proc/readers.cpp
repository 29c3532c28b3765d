#include "collect/proc/readers.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "collect/scan.h"

namespace corral::collect::proc {
namespace {

constexpr double kSectorBytes = 512;
constexpr std::size_t kMostOwnFiles = 16;  // most files of disks that are kept open

std::optional<ProcFile> open_or_tell(const std::filesystem::path& path, std::string_view metrics,
                                     SeriesTable& table) {
  auto file = ProcFile::open(path);
  if (file) return *std::move(file);
  table.unavailable(std::string(metrics), file.error().message);
  return std::nullopt;
}

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

}  // namespace

void PacedTime::set(Row& row, double seconds, double cpus) {
  const BootTime now = row.time();
  const bool follows = at_ != BootTime{} && now > at_;
  const double most = told_ + cpus * corral::seconds(now - at_);
  told_ = follows ? std::min(seconds, most) : seconds;
  at_ = now;
  row.set(column_, told_);
}

StatReader::StatReader(const std::filesystem::path& root, SeriesTable& table)
    : file_(open_or_tell(root / "proc/stat", "host.cpu.*", table)),
      tick_seconds_(1.0 / static_cast<double>(::sysconf(_SC_CLK_TCK))) {
  if (!file_) return;
  const std::string_view text = file_->read();
  parsed_.resize(static_cast<std::size_t>(std::ranges::count(text, '\n')) + 1);
  parsed_.resize(parse_stat(text, parsed_).cores);
  declare(table);
}

void StatReader::declare(SeriesTable& table) {
  busy_ = PacedTime(table.add("host.cpu.busy"));
  user_ = PacedTime(table.add("host.cpu.user"));
  system_ = PacedTime(table.add("host.cpu.system"));
  irq_ = table.add("host.cpu.irq");
  iowait_ = table.add("host.cpu.iowait");
  steal_ = table.add("host.cpu.steal");
  running_ = table.add("host.processes.running");
  blocked_ = table.add("host.processes.blocked");
  switches_ = table.add("host.scheduler.context_switches");
  interrupts_ = table.add("host.scheduler.interrupts");
  forks_ = table.add("host.scheduler.forks");
  for (const CoreTicks& core : parsed_) {
    cores_.push_back(
        {.cpu = core.cpu,
         .busy = PacedTime(table.add("host.cpu.core.busy", "cpu" + std::to_string(core.cpu)))});
  }
}

void StatReader::sample(Row& row) {
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
  row.set(irq_, number(stat.total.irq) * tick_seconds_);
  row.set(iowait_, number(stat.total.iowait) * tick_seconds_);
  row.set(steal_, number(stat.total.steal) * tick_seconds_);
  row.set(running_, stat.running);
  row.set(blocked_, stat.blocked);
  row.set(switches_, stat.context_switches);
  row.set(interrupts_, stat.interrupts);
  row.set(forks_, stat.forks);
}

LoadReader::LoadReader(const std::filesystem::path& root, SeriesTable& table)
    : file_(open_or_tell(root / "proc/loadavg", "host.load.*", table)) {
  if (!file_) return;
  one_ = table.add("host.load.1m");
  five_ = table.add("host.load.5m");
  fifteen_ = table.add("host.load.15m");
  threads_ = table.add("host.threads");
}

void LoadReader::sample(Row& row) {
  LoadAverage load;
  if (!file_ || !parse_loadavg(file_->read(), load)) return;
  row.set(one_, load.one);
  row.set(five_, load.five);
  row.set(fifteen_, load.fifteen);
  row.set(threads_, load.threads);
}

KeyValueReader::KeyValueReader(const std::filesystem::path& file, std::span<const Line> lines,
                               SeriesTable& table) {
  const std::string_view first = lines.front().metric;
  file_ = open_or_tell(file, std::string(first.substr(0, first.rfind('.'))) + ".*", table);
  if (!file_) return;
  for (const Line& line : lines) {
    key_index(line.key);
    if (!line.less_of.empty()) key_index(line.less_of);
  }
  const std::string_view text = file_->read();
  there_ = find_values(text, keys_, values_);
  note_end(text);
  for (const Line& line : lines) declare(line, there_, table);
}

// The index of `key`, which is added when it is new.
std::size_t KeyValueReader::key_index(std::string_view key) {
  const auto at = static_cast<std::size_t>(std::ranges::find(keys_, key) - keys_.begin());
  if (at == keys_.size()) {
    keys_.push_back(key);
    values_.push_back(0);
  }
  return at;
}

void KeyValueReader::declare(const Line& line, std::uint32_t found, SeriesTable& table) {
  Output out{
      .column = kNoColumn, .key = key_index(line.key), .less_of = key_index(line.key), .scale = 1};
  if (!line.less_of.empty()) out.less_of = key_index(line.less_of);
  if ((found >> out.key & 1u) == 0 || (found >> out.less_of & 1u) == 0) {
    table.unavailable(std::string(line.metric),
                      "this kernel does not report " + std::string(line.key));
    return;
  }
  if (line.unit == Unit::kKib) out.scale = 1024;
  if (line.unit == Unit::kPage) out.scale = static_cast<double>(::sysconf(_SC_PAGESIZE));
  out.column = table.add(line.metric);
  outputs_.push_back(out);
}

void KeyValueReader::note_end(std::string_view text) {
  constexpr std::size_t kRoomToGrow = 256;  // a digit more in each of so many lines
  std::size_t end = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::string_view line = Scanner(text.substr(at)).line();
    at += line.size() + 1;
    if (std::ranges::find(keys_, Scanner(line).word(':')) != keys_.end()) end = at;
  }
  enough_ = end + kRoomToGrow;
}

// The kernel writes line by line until it has enough bytes, and half of the lines are of no
// interest.
std::uint32_t KeyValueReader::find() {
  const std::uint32_t found = find_values(file_->read_beginning(enough_), keys_, values_);
  if ((found & there_) == there_) return found;
  const std::string_view text = file_->read();
  note_end(text);
  return find_values(text, keys_, values_);
}

void KeyValueReader::sample(Row& row) {
  if (!file_) return;
  const std::uint32_t found = find();
  for (const Output& out : outputs_) {
    if ((found >> out.key & 1u) == 0 || (found >> out.less_of & 1u) == 0) continue;
    const double value = number(values_[out.key]);
    // The two lines of a difference are not read at one instant: it may be a little below 0.
    const double kept =
        out.less_of == out.key ? value : std::max(0.0, number(values_[out.less_of]) - value);
    row.set(out.column, kept * out.scale);
  }
}

KeyValueReader memory_reader(const std::filesystem::path& root, SeriesTable& table) {
  using enum KeyValueReader::Unit;
  static constexpr auto kLines = std::to_array<KeyValueReader::Line>({
      {"MemTotal", kKib, "host.memory.total"},
      {"MemFree", kKib, "host.memory.free"},
      {"MemAvailable", kKib, "host.memory.available"},
      {"MemAvailable", kKib, "host.memory.used", "MemTotal"},
      {"Buffers", kKib, "host.memory.buffers"},
      {"Cached", kKib, "host.memory.cached"},
      {"SwapTotal", kKib, "host.swap.total"},
      {"SwapFree", kKib, "host.swap.used", "SwapTotal"},
      {"Dirty", kKib, "host.memory.dirty"},
      {"Writeback", kKib, "host.memory.writeback"},
      {"AnonPages", kKib, "host.memory.anonymous"},
      {"Mapped", kKib, "host.memory.mapped"},
      {"Shmem", kKib, "host.memory.shared"},
      {"Slab", kKib, "host.memory.slab"},
      {"PageTables", kKib, "host.memory.page_tables"},
      {"Committed_AS", kKib, "host.memory.committed"},
  });
  return {root / "proc/meminfo", kLines, table};
}

KeyValueReader paging_reader(const std::filesystem::path& root, SeriesTable& table) {
  using enum KeyValueReader::Unit;
  static constexpr auto kLines = std::to_array<KeyValueReader::Line>({
      {"pgpgin", kKib, "host.paging.in"},
      {"pgpgout", kKib, "host.paging.out"},
      {"pswpin", kPage, "host.paging.swap_in"},
      {"pswpout", kPage, "host.paging.swap_out"},
      {"pgfault", kCount, "host.paging.faults"},
      {"pgmajfault", kCount, "host.paging.major_faults"},
      {"oom_kill", kCount, "host.paging.oom_kills"},
  });
  return {root / "proc/vmstat", kLines, table};
}

DiskReader::DiskReader(const std::filesystem::path& root, SeriesTable& table)
    : file_(open_or_tell(root / "proc/diskstats", "host.disk.*", table)) {
  if (!file_) return;
  const std::string_view text = file_->read();
  const auto lines = static_cast<std::size_t>(std::ranges::count(text, '\n'));
  parsed_.resize(lines + 32);
  const std::size_t count = parse_diskstats(text, parsed_);
  if (count == 0) table.unavailable("host.disk.*", "no whole disk in /proc/diskstats");
  for (std::size_t i = 0; i < count; ++i) {
    const std::string name(parsed_[i].name);
    disks_.push_back({.name = name,
                      .read = table.add("host.disk.read", name),
                      .write = table.add("host.disk.write", name),
                      .reads = table.add("host.disk.reads", name),
                      .writes = table.add("host.disk.writes", name),
                      .busy = table.add("host.disk.busy", name),
                      .queue = table.add("host.disk.queue", name)});
  }
  if (count <= kMostOwnFiles && 2 * count <= lines) open_own_files(root);
}

void DiskReader::open_own_files(const std::filesystem::path& root) {
  for (Disk& disk : disks_) {
    std::string name = disk.name;
    std::ranges::replace(name, '/', '!');  // as the kernel does
    disk.path = (root / "sys/block" / name / "stat").string();
    DiskLine line;
    if (!disk.read_own(line)) return;
  }
  file_.reset();
}

bool DiskReader::Disk::read_own(DiskLine& line) {
  if (!file) file = sys::Fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::array<char, 512> text;
  const std::ptrdiff_t size = file ? read_record(file.get(), text) : -1;
  if (size < 0) file.reset();
  return size > 0 && parse_disk_stat({text.data(), static_cast<std::size_t>(size)}, line);
}

void DiskReader::Disk::give(const DiskLine& line, Row& row) const {
  row.set(read, number(line.sectors_read) * kSectorBytes);
  row.set(write, number(line.sectors_written) * kSectorBytes);
  row.set(reads, line.reads);
  row.set(writes, line.writes);
  row.set(busy, number(line.busy_ms) * 1e-3);
  row.set(queue, number(line.queue_ms) * 1e-3);
}

void DiskReader::sample(Row& row) {
  if (!file_) {
    DiskLine line;
    for (Disk& disk : disks_) {
      if (disk.read_own(line)) disk.give(line, row);
    }
    return;
  }
  const std::span<const DiskLine> lines(parsed_.data(), parse_diskstats(file_->read(), parsed_));
  std::size_t next = 0;
  for (const Disk& disk : disks_) {
    const DiskLine* line = find_line(disk, lines, next);
    if (line != nullptr) disk.give(*line, row);
  }
}

NetReader::NetReader(const std::filesystem::path& root, SeriesTable& table)
    : file_(open_or_tell(root / "proc/net/dev", "host.net.*", table)) {
  if (!file_) return;
  const std::string_view text = file_->read();
  parsed_.resize(static_cast<std::size_t>(std::ranges::count(text, '\n')) + 32);
  const std::size_t count = parse_net_dev(text, parsed_);
  for (std::size_t i = 0; i < count; ++i) {
    const std::string name(parsed_[i].name);
    interfaces_.push_back({.name = name,
                           .rx = table.add("host.net.rx", name),
                           .tx = table.add("host.net.tx", name),
                           .rx_packets = table.add("host.net.rx_packets", name),
                           .tx_packets = table.add("host.net.tx_packets", name),
                           .rx_errors = table.add("host.net.rx_errors", name),
                           .tx_errors = table.add("host.net.tx_errors", name),
                           .rx_drops = table.add("host.net.rx_drops", name),
                           .tx_drops = table.add("host.net.tx_drops", name)});
  }
}

void NetReader::sample(Row& row) {
  if (!file_) return;
  const std::span<const NetLine> lines(parsed_.data(), parse_net_dev(file_->read(), parsed_));
  std::size_t next = 0;
  for (const Interface& interface : interfaces_) {
    const NetLine* line = find_line(interface, lines, next);
    if (line == nullptr) continue;
    row.set(interface.rx, line->rx_bytes);
    row.set(interface.tx, line->tx_bytes);
    row.set(interface.rx_packets, line->rx_packets);
    row.set(interface.tx_packets, line->tx_packets);
    row.set(interface.rx_errors, line->rx_errors);
    row.set(interface.tx_errors, line->tx_errors);
    row.set(interface.rx_drops, line->rx_drops);
    row.set(interface.tx_drops, line->tx_drops);
  }
}

PressureReader::PressureReader(const std::filesystem::path& root, SeriesTable& table) {
  constexpr std::array<std::string_view, 3> kNames{"cpu", "memory", "io"};
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    const std::string metric = "host.pressure." + std::string(kNames[i]);
    Resource& resource = resources_[i];
    resource.file = open_or_tell(root / "proc/pressure" / kNames[i], metric + ".*", table);
    if (!resource.file) continue;
    const Pressure now = parse_pressure(resource.file->read());
    if (now.has_some) resource.some = table.add(metric + ".some");
    // The kernel defines no system-wide "full" for CPUs and writes 0 there.
    if (now.has_full && kNames[i] != "cpu") resource.full = table.add(metric + ".full");
  }
}

void PressureReader::sample(Row& row) {
  for (Resource& resource : resources_) {
    if (!resource.file) continue;
    const Pressure now = parse_pressure(resource.file->read());
    if (now.has_some) row.set(resource.some, number(now.some_us) * 1e-6);
    if (now.has_full) row.set(resource.full, number(now.full_us) * 1e-6);
  }
}

}  // namespace corral::collect::proc
