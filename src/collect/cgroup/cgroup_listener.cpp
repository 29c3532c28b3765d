#include "collect/cgroup/cgroup_listener.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "collect/cgroup/group.h"
#include "collect/cgroup/parse.h"
#include "collect/key_value_file.h"
#include "collect/proc/pressure_reader.h"
#include "collect/proc_file.h"
#include "collect/sysfs/number_file.h"
#include "sys/file.h"

namespace corral::collect {
namespace cgroup {
namespace {

namespace fs = std::filesystem;
using sysfs::NumberFile;

constexpr double kMicro = 1e-6;
constexpr double kNano = 1e-9;
// v1 writes the greatest whole number of pages for "no limit".
constexpr double kNoLimit = 4.6e18;

std::string_view last_part(std::string_view path) { return path.substr(path.rfind('/') + 1); }

// A group's path may have any length; its end distinguishes groups.
std::string group_source(const Chain& chain) {
  constexpr std::size_t kLongest = 120;
  return chain.name.size() <= kLongest ? chain.name : std::string(last_part(chain.name));
}

// Least of the values that are there.
template <class Items, class Read>
std::optional<double> least(Items& items, Read read) {
  std::optional<double> found;
  for (auto& item : items) {
    const std::optional<double> value = read(item);
    if (value && (!found || *value < *found)) found = value;
  }
  return found;
}

// The CPU quota of one group, in cores; nothing while it has none.
class Quota {
 public:
  Quota(bool unified, const std::filesystem::path& directory) {
    if (unified) {
      max_ = open_if_there(directory / "cpu.max");
      return;
    }
    if (auto time = NumberFile::open(directory / "cpu.cfs_quota_us")) time_ = *std::move(time);
    if (auto period = NumberFile::open(directory / "cpu.cfs_period_us"))
      period_ = *std::move(period);
  }

  [[nodiscard]] std::optional<double> read() {
    if (max_) return parse_cpu_max(max_->read());
    if (!time_ || !period_) return std::nullopt;
    const auto time = time_->read();
    const auto period = period_->read();
    if (!time || !period || *time <= 0 || *period <= 0) return std::nullopt;
    return *time / *period;
  }

 private:
  std::optional<ProcFile> max_;                     // v2: "50000 100000"
  std::optional<sysfs::NumberFile> time_, period_;  // v1
};

class CpuReader {
 public:
  CpuReader(const Finder& finder, SeriesTable& table) {
    const fs::path used = open_usage(finder, table);
    const auto chain =
        finder.find_or_report("cpu", "cgroup.cpu.limit, cgroup.cpu.throttled", table);
    if (!chain) return;
    std::optional<double> tightest;
    fs::path throttled = chain->own();
    for (const fs::path& directory : chain->directories) {
      Quota& quota = quotas_.emplace_back(chain->unified, directory);
      const auto cores = quota.read();
      if (!cores || (tightest && *cores >= *tightest)) continue;
      tightest = cores;
      throttled = directory;
    }
    const std::string source = group_source(*chain);
    if (tightest) {
      limit_ = table.add("cgroup.cpu.limit", source);
    } else {
      quotas_.clear();
      table.unavailable("cgroup.cpu.limit", "the group has no CPU quota");
    }
    const std::array<KeyValueFile::Line, 3> lines{
        {{"nr_periods", "cgroup.cpu.periods"},
         {"nr_throttled", "cgroup.cpu.throttled_periods"},
         chain->unified ? KeyValueFile::Line{"throttled_usec", "cgroup.cpu.throttled", kMicro}
                        : KeyValueFile::Line{"throttled_time", "cgroup.cpu.throttled", kNano}}};
    if (throttled / "cpu.stat" == used) {
      used_v2_.add(lines, source, table);  // one read of the kernel's for both
    } else {
      throttled_ = KeyValueFile(open_if_there(throttled / "cpu.stat"));
      throttled_.add(lines, source, table);
    }
  }

  void sample_fast(Row& row) {
    used_v1_.sample(kFastGroup, row);
    used_v2_.sample(row);
    throttled_.sample(row);
  }

  void sample_slow(Row& row) {
    if (const auto cores = least(quotas_, [](Quota& quota) { return quota.read(); }))
      row.set(limit_, *cores);
  }

 private:
  // The file of used_v2_; empty: there is none.
  std::filesystem::path open_usage(const Finder& finder, SeriesTable& table) {
    // The unified hierarchy counts CPU time for every group, with or without a controller.
    auto chain = finder.find("cpuacct");
    if (!chain) chain = finder.find("");
    if (!chain) {
      table.unavailable("cgroup.cpu.used", chain.error().message);
      return {};
    }
    if (chain->unified) {
      constexpr auto kLines = std::to_array<KeyValueFile::Line>({
          {"usage_usec", "cgroup.cpu.used", kMicro},
          {"user_usec", "cgroup.cpu.user", kMicro},
          {"system_usec", "cgroup.cpu.system", kMicro},
      });
      fs::path file = chain->own() / "cpu.stat";
      used_v2_ = KeyValueFile(open_if_there(file));
      used_v2_.add(kLines, group_source(*chain), table);
      return file;
    }
    for (const auto& [metric, file] :
         {std::pair<std::string_view, const char*>{"cgroup.cpu.used", "cpuacct.usage"},
          {"cgroup.cpu.user", "cpuacct.usage_user"},
          {"cgroup.cpu.system", "cpuacct.usage_sys"}}) {
      used_v1_.add_if_there({.metric = metric,
                             .source = group_source(*chain),
                             .path = chain->own() / file,
                             .scale = kNano},
                            table);
    }
    return {};
  }

  sysfs::NumberFiles used_v1_;
  KeyValueFile used_v2_;
  KeyValueFile throttled_;
  std::vector<Quota> quotas_;  // quotas of the group and of those above it
  Column limit_ = kNoColumn;
};

// The files of the memory controller of one version.
struct MemoryFiles {
  std::array<std::pair<std::string_view, const char*>, 3> numbers;  // metric, file; used first
  std::span<const KeyValueFile::Line> stat;                         // lines of memory.stat
  const char* events_file;
  std::span<const KeyValueFile::Line> events;
  const char* limit;
};
constexpr auto kStatV1 = std::to_array<KeyValueFile::Line>({
    {"total_cache", "cgroup.memory.file"},
    {"total_rss", "cgroup.memory.anonymous"},
    {"total_swap", "cgroup.memory.swap"},
    {"total_pgmajfault", "cgroup.memory.major_faults"},
});
constexpr auto kEventsV1 =
    std::to_array<KeyValueFile::Line>({{"oom_kill", "cgroup.memory.oom_kills"}});
constexpr MemoryFiles kMemoryV1{.numbers = {{{"cgroup.memory.used", "memory.usage_in_bytes"},
                                             {"cgroup.memory.peak", "memory.max_usage_in_bytes"},
                                             {"cgroup.memory.limit_hits", "memory.failcnt"}}},
                                .stat = kStatV1,
                                .events_file = "memory.oom_control",
                                .events = kEventsV1,
                                .limit = "memory.limit_in_bytes"};
constexpr auto kStatV2 = std::to_array<KeyValueFile::Line>({
    {"anon", "cgroup.memory.anonymous"},
    {"file", "cgroup.memory.file"},
    {"pgmajfault", "cgroup.memory.major_faults"},
});
constexpr auto kEventsV2 = std::to_array<KeyValueFile::Line>({
    {"high", "cgroup.memory.high_hits"},
    {"max", "cgroup.memory.limit_hits"},
    {"oom_kill", "cgroup.memory.oom_kills"},
});
constexpr MemoryFiles kMemoryV2{.numbers = {{{"cgroup.memory.used", "memory.current"},
                                             {"cgroup.memory.peak", "memory.peak"},
                                             {"cgroup.memory.swap", "memory.swap.current"}}},
                                .stat = kStatV2,
                                .events_file = "memory.events",
                                .events = kEventsV2,
                                .limit = "memory.max"};

class MemoryReader {
 public:
  MemoryReader(const Finder& finder, SeriesTable& table) {
    const auto chain = finder.find_or_report("memory", "cgroup.memory.*", table);
    if (!chain) return;
    const MemoryFiles& files = chain->unified ? kMemoryV2 : kMemoryV1;
    if (!is_there(chain->own() / files.numbers.front().second)) {
      table.unavailable("cgroup.memory.*", "the memory controller is not enabled for the group");
      return;
    }
    open(*chain, files, table);
    const bool limited = std::ranges::any_of(
        limits_, [](const NumberFile& f) { return f.read().value_or(kNoLimit) < kNoLimit; });
    if (limited) {
      limit_ = table.add("cgroup.memory.limit", group_source(*chain));
    } else {
      limits_.clear();
      table.unavailable("cgroup.memory.limit", "the group's memory is not limited");
    }
  }

  void sample_fast(Row& row) const { numbers_.sample(kFastGroup, row); }

  void sample_slow(Row& row) {
    numbers_.sample(kSlowGroup, row);
    stat_.sample(row);
    events_.sample(row);
    const auto limit = least(limits_, [](const NumberFile& file) { return file.read(); });
    if (limit && *limit < kNoLimit) row.set(limit_, *limit);
  }

 private:
  void open(const Chain& chain, const MemoryFiles& files, SeriesTable& table) {
    const std::string source = group_source(chain);
    const fs::path& own = chain.own();
    for (const auto& [metric, file] : files.numbers)
      numbers_.add_if_there({.metric = metric, .source = source, .path = own / file}, table);
    stat_ = KeyValueFile(open_if_there(own / "memory.stat"));
    stat_.add(files.stat, source, table);
    events_ = KeyValueFile(open_if_there(own / files.events_file));
    events_.add(files.events, source, table);
    for (const fs::path& directory : chain.directories) {
      auto limit = NumberFile::open_limit(directory / files.limit);
      if (limit) limits_.push_back(*std::move(limit));
    }
  }

  sysfs::NumberFiles numbers_;
  std::vector<sysfs::NumberFile> limits_;
  Column limit_ = kNoColumn;
  KeyValueFile stat_, events_;
};

constexpr auto kIoMetrics = std::to_array<NumberMetric<IoTotals>>({
    {"cgroup.io.read", &IoTotals::read_bytes},
    {"cgroup.io.write", &IoTotals::write_bytes},
    {"cgroup.io.reads", &IoTotals::reads},
    {"cgroup.io.writes", &IoTotals::writes},
});

class IoReader {
 public:
  IoReader(const std::filesystem::path& root, const Finder& finder, SeriesTable& table) {
    if (const auto devices = sys::read_file(root / "proc/devices"))
      skipped_ = stacked_majors(*devices);
    // v1 calls it blkio; where no hierarchy of v1 has that, the unified one is found.
    const auto used = finder.find_or_report("blkio", "cgroup.io.*", table);
    if (!used) return;
    if (used->unified) {
      stat_ = open_if_there(used->own() / "io.stat");
    } else {
      bytes_ = open_if_there(used->own() / "blkio.throttle.io_service_bytes_recursive");
      operations_ = open_if_there(used->own() / "blkio.throttle.io_serviced_recursive");
    }
    if (!stat_ && !(bytes_ && operations_)) {
      table.unavailable("cgroup.io.*", "the io controller is not enabled for the group");
      return;
    }
    add_columns(kIoMetrics, group_source(*used), columns_, table);
  }

  void sample_slow(Row& row) {
    IoTotals totals;
    if (stat_) {
      const std::string_view text = stat_->read();
      if (text.empty() && seen_) return;  // the group is gone; before its first I/O it is empty too
      seen_ = seen_ || !text.empty();
      totals = parse_io_stat(text, skipped_);
    } else if (bytes_ && operations_) {
      const std::string_view text = bytes_->read();
      if (text.empty()) return;
      const ReadWrite bytes = parse_blkio(text, skipped_);
      const ReadWrite operations = parse_blkio(operations_->read(), skipped_);
      totals = {.read_bytes = bytes.read,
                .write_bytes = bytes.write,
                .reads = operations.read,
                .writes = operations.write};
    } else {
      return;
    }
    set_columns(kIoMetrics, totals, columns_, row);
  }

 private:
  std::vector<std::uint64_t> skipped_;
  std::optional<ProcFile> stat_;                // v2
  bool seen_ = false;                           // it had something to say
  std::optional<ProcFile> bytes_, operations_;  // v1
  std::array<Column, kIoMetrics.size()> columns_{};
};

class TaskReader {
 public:
  TaskReader(const Finder& finder, SeriesTable& table) {
    const auto chain = finder.find_or_report("pids", "cgroup.tasks", table);
    if (!chain) return;
    const std::string source = group_source(*chain);
    numbers_.add_if_there(
        {.metric = "cgroup.tasks", .source = source, .path = chain->own() / "pids.current"}, table);
    if (numbers_.empty())
      table.unavailable("cgroup.tasks", "the pids controller is not enabled for the group");
  }

  void sample_slow(Row& row) const { numbers_.sample(kSlowGroup, row); }

 private:
  sysfs::NumberFiles numbers_;
};

class CgroupListener final : public Listener {
 public:
  CgroupListener(const ListenerContext& context, SeriesTable& table)
      : CgroupListener(context, Finder(context.root, context.run_pid), table) {}

  void sample_fast(Row& row) override {
    cpu_.sample_fast(row);
    memory_.sample_fast(row);
    pressure_.sample(row);
  }
  void sample_slow(Row& row) override {
    cpu_.sample_slow(row);
    memory_.sample_slow(row);
    io_.sample_slow(row);
    tasks_.sample_slow(row);
  }

 private:
  CgroupListener(const ListenerContext& context, const Finder& finder, SeriesTable& table)
      : cpu_(finder, table),
        memory_(finder, table),
        io_(context.root, finder, table),
        tasks_(finder, table) {
    const auto chain = finder.find_or_report("", "cgroup.pressure.*", table);
    if (!chain) return;
    for (const std::string resource : {"cpu", "memory", "io"}) {
      pressure_.add({.path = chain->own() / (resource + ".pressure"),
                     .metric = "cgroup.pressure." + resource,
                     .source = group_source(*chain)},
                    table);
    }
  }

  CpuReader cpu_;
  MemoryReader memory_;
  IoReader io_;
  TaskReader tasks_;
  proc::PressureReader pressure_;
};

}  // namespace
}  // namespace cgroup

std::unique_ptr<Listener> open_cgroup_listener(const ListenerContext& context, SeriesTable& table) {
  if (context.run_pid == 0) {
    table.unavailable("cgroup.*", "there is no run");
    return nullptr;
  }
  const std::size_t before = table.size();
  auto listener = std::make_unique<cgroup::CgroupListener>(context, table);
  if (table.size() == before) return nullptr;
  return listener;
}

}  // namespace corral::collect
