#include "collect/cgroup/readers.h"

#include <algorithm>
#include <utility>

#include "collect/proc/parse.h"
#include "collect/scan.h"
#include "sys/file.h"

namespace corral::collect::cgroup {
namespace {

namespace fs = std::filesystem;
using sysfs::NumberFile;

constexpr double kMicro = 1e-6;
constexpr double kNano = 1e-9;
// v1 writes the greatest whole number of pages for "no limit".
constexpr double kNoLimit = 4.6e18;

std::optional<ProcFile> open_if_there(const fs::path& path) {
  auto file = ProcFile::open(path);
  if (!file) return std::nullopt;
  return *std::move(file);
}

bool is_there(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

// The root group has no limits, and its numbers are the host's.
bool is_root_group(const Chain& chain) {
  if (chain.unified) return !is_there(chain.own() / "cgroup.type");
  return is_there(chain.own() / "cgroup.sane_behavior");
}

std::string_view last_part(std::string_view path) { return path.substr(path.rfind('/') + 1); }

// A group's path may have any length; its end distinguishes groups.
std::string source_of(const Chain& chain) {
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

}  // namespace

Finder::Finder(fs::path root, pid_t pid) : root_(std::move(root)) {
  auto memberships = sys::read_file(root_ / "proc" / std::to_string(pid) / "cgroup");
  auto mounts = sys::read_file(root_ / "proc/self/mountinfo");
  if (!memberships || !mounts) {
    error_ = (memberships ? mounts : memberships).error().message;
    return;
  }
  memberships_ = parse_memberships(*memberships);
  mounts_ = parse_mounts(*mounts);
}

Result<Chain> Finder::find(std::string_view controller) const {
  if (!error_.empty()) return fail(Code::kUnavailable, error_);
  const auto place = find_place(controller, memberships_, mounts_);
  if (!place) return fail(Code::kNotFound, "the run's group is not in a mounted hierarchy");
  Chain chain{.unified = place->unified, .name = place->name, .directories = {}};
  fs::path directory = root_ / fs::path(place->point).relative_path();
  chain.directories.push_back(directory);
  for (const fs::path& part : fs::path(place->relative)) {
    if (!part.empty()) chain.directories.insert(chain.directories.begin(), directory /= part);
  }
  if (!is_there(chain.own())) return fail(Code::kNotFound, chain.own().string() + " is not there");
  if (is_root_group(chain)) {
    return fail(Code::kUnsupported,
                "the run is in the root group, which is the whole host: see host.*");
  }
  return chain;
}

std::optional<Chain> Finder::find_or_tell(std::string_view controller, std::string_view metrics,
                                          SeriesTable& table) const {
  auto chain = find(controller);
  if (chain) return *std::move(chain);
  table.unavailable(std::string(metrics), chain.error().message);
  return std::nullopt;
}

KeyFile::KeyFile(const fs::path& path, std::span<const Line> lines, const std::string& source,
                 SeriesTable& table) {
  file_ = open_if_there(path);
  add(lines, source, table);
}

void KeyFile::add(std::span<const Line> lines, const std::string& source, SeriesTable& table) {
  if (!file_) return;
  const std::size_t before = keys_.size();
  for (const Line& line : lines) keys_.push_back(line.key);
  values_.resize(keys_.size());
  const std::uint32_t found = find_values(file_->read(), keys_, values_) >> before;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    columns_.push_back((found >> i & 1u) != 0 ? table.add(lines[i].metric, source) : kNoColumn);
    scales_.push_back(lines[i].scale);
  }
}

void KeyFile::sample(Row& row) {
  if (!file_) return;
  const std::uint32_t found = find_values(file_->read(), keys_, values_);
  for (std::size_t i = 0; i < keys_.size(); ++i) {
    if ((found >> i & 1u) != 0) row.set(columns_[i], static_cast<double>(values_[i]) * scales_[i]);
  }
}

Quota::Quota(bool unified, const fs::path& directory) {
  if (unified) {
    max_ = open_if_there(directory / "cpu.max");
    return;
  }
  if (auto time = NumberFile::open(directory / "cpu.cfs_quota_us")) time_ = *std::move(time);
  if (auto period = NumberFile::open(directory / "cpu.cfs_period_us")) period_ = *std::move(period);
}

std::optional<double> Quota::read() {
  if (max_) return parse_cpu_max(max_->read());
  if (!time_ || !period_) return std::nullopt;
  const auto time = time_->read();
  const auto period = period_->read();
  if (!time || !period || *time <= 0 || *period <= 0) return std::nullopt;
  return *time / *period;
}

CpuReader::CpuReader(const Finder& finder, SeriesTable& table) {
  const fs::path used = open_usage(finder, table);
  const auto chain = finder.find_or_tell("cpu", "cgroup.cpu.limit, cgroup.cpu.throttled", table);
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
  const std::string source = source_of(*chain);
  if (tightest) {
    limit_ = table.add("cgroup.cpu.limit", source);
  } else {
    quotas_.clear();
    table.unavailable("cgroup.cpu.limit", "the group has no CPU quota");
  }
  const std::array<KeyFile::Line, 3> lines{
      {{"nr_periods", "cgroup.cpu.periods"},
       {"nr_throttled", "cgroup.cpu.throttled_periods"},
       chain->unified ? KeyFile::Line{"throttled_usec", "cgroup.cpu.throttled", kMicro}
                      : KeyFile::Line{"throttled_time", "cgroup.cpu.throttled", kNano}}};
  if (throttled / "cpu.stat" == used) {
    used_v2_.add(lines, source, table);  // one read of the kernel's for both
  } else {
    throttled_ = KeyFile(throttled / "cpu.stat", lines, source, table);
  }
}

fs::path CpuReader::open_usage(const Finder& finder, SeriesTable& table) {
  // The unified hierarchy counts CPU time for every group, with or without a controller.
  auto chain = finder.find("cpuacct");
  if (!chain) chain = finder.find("");
  if (!chain) {
    table.unavailable("cgroup.cpu.used", chain.error().message);
    return {};
  }
  if (chain->unified) {
    constexpr auto kLines = std::to_array<KeyFile::Line>({
        {"usage_usec", "cgroup.cpu.used", kMicro},
        {"user_usec", "cgroup.cpu.user", kMicro},
        {"system_usec", "cgroup.cpu.system", kMicro},
    });
    fs::path file = chain->own() / "cpu.stat";
    used_v2_ = KeyFile(file, kLines, source_of(*chain), table);
    return file;
  }
  for (const auto& [metric, file] :
       {std::pair<std::string_view, const char*>{"cgroup.cpu.used", "cpuacct.usage"},
        {"cgroup.cpu.user", "cpuacct.usage_user"},
        {"cgroup.cpu.system", "cpuacct.usage_sys"}}) {
    used_v1_.add_if_there({.metric = metric,
                           .source = source_of(*chain),
                           .path = chain->own() / file,
                           .scale = kNano},
                          table);
  }
  return {};
}

void CpuReader::sample_fast(Row& row) {
  used_v1_.sample(kFastGroup, row);
  used_v2_.sample(row);
  throttled_.sample(row);
}

void CpuReader::sample_slow(Row& row) {
  if (const auto cores = least(quotas_, [](Quota& quota) { return quota.read(); }))
    row.set(limit_, *cores);
}

MemoryReader::MemoryReader(const Finder& finder, SeriesTable& table) {
  const auto chain = finder.find_or_tell("memory", "cgroup.memory.*", table);
  if (!chain) return;
  if (!is_there(chain->own() / (chain->unified ? "memory.current" : "memory.usage_in_bytes"))) {
    table.unavailable("cgroup.memory.*", "the memory controller is not enabled for the group");
    return;
  }
  chain->unified ? open_v2(*chain, table) : open_v1(*chain, table);
  for (const fs::path& directory : chain->directories) {
    auto limit = NumberFile::open_limit(directory /
                                        (chain->unified ? "memory.max" : "memory.limit_in_bytes"));
    if (limit) limits_.push_back(*std::move(limit));
  }
  const bool limited = std::ranges::any_of(
      limits_, [](const NumberFile& f) { return f.read().value_or(kNoLimit) < kNoLimit; });
  if (limited) {
    limit_ = table.add("cgroup.memory.limit", source_of(*chain));
  } else {
    limits_.clear();
    table.unavailable("cgroup.memory.limit", "the group's memory is not limited");
  }
}

void MemoryReader::open_v1(const Chain& chain, SeriesTable& table) {
  const std::string source = source_of(chain);
  const fs::path& own = chain.own();
  for (const auto& [metric, file] :
       {std::pair<std::string_view, const char*>{"cgroup.memory.used", "memory.usage_in_bytes"},
        {"cgroup.memory.peak", "memory.max_usage_in_bytes"},
        {"cgroup.memory.limit_hits", "memory.failcnt"}}) {
    numbers_.add_if_there({.metric = metric, .source = source, .path = own / file}, table);
  }
  constexpr auto kStat = std::to_array<KeyFile::Line>({
      {"total_cache", "cgroup.memory.file"},
      {"total_rss", "cgroup.memory.anonymous"},
      {"total_swap", "cgroup.memory.swap"},
      {"total_pgmajfault", "cgroup.memory.major_faults"},
  });
  stat_ = KeyFile(own / "memory.stat", kStat, source, table);
  constexpr auto kEvents = std::to_array<KeyFile::Line>({{"oom_kill", "cgroup.memory.oom_kills"}});
  events_ = KeyFile(own / "memory.oom_control", kEvents, source, table);
}

void MemoryReader::open_v2(const Chain& chain, SeriesTable& table) {
  const std::string source = source_of(chain);
  const fs::path& own = chain.own();
  for (const auto& [metric, file] :
       {std::pair<std::string_view, const char*>{"cgroup.memory.used", "memory.current"},
        {"cgroup.memory.peak", "memory.peak"},
        {"cgroup.memory.swap", "memory.swap.current"}}) {
    numbers_.add_if_there({.metric = metric, .source = source, .path = own / file}, table);
  }
  constexpr auto kStat = std::to_array<KeyFile::Line>({
      {"anon", "cgroup.memory.anonymous"},
      {"file", "cgroup.memory.file"},
      {"pgmajfault", "cgroup.memory.major_faults"},
  });
  stat_ = KeyFile(own / "memory.stat", kStat, source, table);
  constexpr auto kEvents = std::to_array<KeyFile::Line>({
      {"high", "cgroup.memory.high_hits"},
      {"max", "cgroup.memory.limit_hits"},
      {"oom_kill", "cgroup.memory.oom_kills"},
  });
  events_ = KeyFile(own / "memory.events", kEvents, source, table);
}

void MemoryReader::sample_slow(Row& row) {
  numbers_.sample(kSlowGroup, row);
  stat_.sample(row);
  events_.sample(row);
  const auto limit = least(limits_, [](const NumberFile& file) { return file.read(); });
  if (limit && *limit < kNoLimit) row.set(limit_, *limit);
}

IoReader::IoReader(const fs::path& root, const Finder& finder, SeriesTable& table) {
  if (const auto devices = sys::read_file(root / "proc/devices"))
    skipped_ = stacked_majors(*devices);
  // v1 calls it blkio; where no hierarchy of v1 has that, the unified one is found.
  const auto used = finder.find_or_tell("blkio", "cgroup.io.*", table);
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
  const std::string source = source_of(*used);
  read_ = table.add("cgroup.io.read", source);
  write_ = table.add("cgroup.io.write", source);
  reads_ = table.add("cgroup.io.reads", source);
  writes_ = table.add("cgroup.io.writes", source);
}

void IoReader::sample_slow(Row& row) {
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
  row.set(read_, totals.read_bytes);
  row.set(write_, totals.write_bytes);
  row.set(reads_, totals.reads);
  row.set(writes_, totals.writes);
}

TaskReader::TaskReader(const Finder& finder, SeriesTable& table) {
  const auto chain = finder.find_or_tell("pids", "cgroup.tasks", table);
  if (!chain) return;
  const std::string source = source_of(*chain);
  numbers_.add_if_there(
      {.metric = "cgroup.tasks", .source = source, .path = chain->own() / "pids.current"}, table);
  if (numbers_.empty())
    table.unavailable("cgroup.tasks", "the pids controller is not enabled for the group");
}

PressureReader::PressureReader(const Finder& finder, SeriesTable& table) {
  constexpr std::array<std::string_view, 3> kNames{"cpu", "memory", "io"};
  const auto chain = finder.find_or_tell("", "cgroup.pressure.*", table);
  if (!chain) return;
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    const std::string metric = "cgroup.pressure." + std::string(kNames[i]);
    const fs::path path = chain->own() / (std::string(kNames[i]) + ".pressure");
    auto file = ProcFile::open(path);
    if (!file) {
      table.unavailable(metric + ".*", file.error().message);
      continue;
    }
    Resource& resource = resources_[i];
    resource.file = *std::move(file);
    const proc::Pressure now = proc::parse_pressure(resource.file->read());
    if (now.has_some) resource.some = table.add(metric + ".some", source_of(*chain));
    if (now.has_full) resource.full = table.add(metric + ".full", source_of(*chain));
  }
}

void PressureReader::sample_fast(Row& row) {
  for (Resource& resource : resources_) {
    if (!resource.file) continue;
    const proc::Pressure now = proc::parse_pressure(resource.file->read());
    if (now.has_some) row.set(resource.some, static_cast<double>(now.some_us) * kMicro);
    if (now.has_full) row.set(resource.full, static_cast<double>(now.full_us) * kMicro);
  }
}

}  // namespace corral::collect::cgroup
