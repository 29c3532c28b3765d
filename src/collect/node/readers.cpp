#include "collect/node/readers.h"

#include <unistd.h>

#include <array>
#include <utility>

#include "collect/scan.h"
#include "core/text.h"

namespace corral::collect::node {
namespace {

namespace fs = std::filesystem;

constexpr double kMilli = 1e-3;
constexpr std::size_t kMostMounts = 32;
constexpr double kKib = 1024;

double number(std::uint64_t n) { return static_cast<double>(n); }

// "2048kB" of "hugepages-2048kB", in bytes.
std::optional<double> page_bytes(std::string_view directory) {
  constexpr std::string_view kPrefix = "hugepages-";
  if (!directory.starts_with(kPrefix) || !directory.ends_with("kB")) return std::nullopt;
  directory.remove_prefix(kPrefix.size());
  const auto kib = parse_int(directory.substr(0, directory.size() - 2));
  if (!kib || *kib <= 0) return std::nullopt;
  return static_cast<double>(*kib) * kKib;
}

}  // namespace

proc::KeyValueReader reclaim_reader(const fs::path& root, SeriesTable& table) {
  using enum proc::KeyValueReader::Unit;
  static constexpr auto kLines = std::to_array<proc::KeyValueReader::Line>({
      {"numa_hint_faults", kCount, "host.numa.hint_faults"},
      {"numa_pages_migrated", kPage, "host.numa.migrated"},
      {"workingset_refault_file", kPage, "host.paging.refaults"},
      {"pgsteal_kswapd", kPage, "host.paging.reclaimed"},
      {"pgsteal_direct", kPage, "host.paging.reclaimed_directly"},
      {"compact_stall", kCount, "host.paging.compaction_stalls"},
      {"thp_fault_alloc", kCount, "host.hugepages.faults"},
      {"thp_fault_fallback", kCount, "host.hugepages.fallbacks"},
  });
  return {root / "proc/vmstat", kLines, table};
}

NumaReader::NumaReader(const fs::path& root, SeriesTable& table) {
  const fs::path directory = root / "sys/devices/system/node";
  const std::vector<std::string> names = sysfs::numbered_entries(directory, "node");
  if (names.size() < 2) {
    table.unavailable("host.numa.memory.*", names.empty()
                                                ? "the kernel shows no NUMA nodes"
                                                : "only one NUMA node: see host.memory.*");
    return;
  }
  for (const std::string& name : names) {
    auto memory = ProcFile::open(directory / name / "meminfo");
    auto placement = ProcFile::open(directory / name / "numastat");
    if (!memory || !placement) {
      table.unavailable("host.numa.memory.* of " + name,
                        (memory ? placement : memory).error().message);
      continue;
    }
    nodes_.push_back({.memory = *std::move(memory),
                      .placement = *std::move(placement),
                      .used = table.add("host.numa.memory.used", name),
                      .free = table.add("host.numa.memory.free", name),
                      .local = table.add("host.numa.memory.local", name),
                      .remote = table.add("host.numa.memory.remote", name),
                      .misses = table.add("host.numa.memory.misses", name)});
  }
}

void NumaReader::sample(Row& row) {
  constexpr std::array<std::string_view, 3> kKeys{"numa_miss", "local_node", "other_node"};
  static const double page = number(static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE)));
  for (Node& node : nodes_) {
    const std::string_view memory = node.memory.read();
    std::uint64_t kib = 0;
    if (parse_node_value(memory, "MemUsed", kib)) row.set(node.used, number(kib) * kKib);
    if (parse_node_value(memory, "MemFree", kib)) row.set(node.free, number(kib) * kKib);
    std::array<std::uint64_t, 3> values{};
    const std::uint32_t found = find_values(node.placement.read(), kKeys, values);
    const std::array<Column, 3> columns{node.misses, node.local, node.remote};
    for (std::size_t i = 0; i < columns.size(); ++i) {
      if ((found >> i & 1u) != 0) row.set(columns[i], number(values[i]) * page);
    }
  }
}

HugePageReader::HugePageReader(const fs::path& root, SeriesTable& table) {
  const fs::path directory = root / "sys/kernel/mm/hugepages";
  std::error_code failed;
  for (const auto& entry : fs::directory_iterator(directory, failed)) {
    const auto bytes = page_bytes(entry.path().filename().string());
    const auto pages = sysfs::parse_number(sysfs::text_of(entry.path() / "nr_hugepages"));
    if (!bytes || !pages || *pages <= 0) continue;
    const std::string source = human_bytes(*bytes);
    for (const auto& [metric, file] :
         {std::pair<std::string_view, const char*>{"host.hugepages.total", "nr_hugepages"},
          {"host.hugepages.free", "free_hugepages"}}) {
      numbers_.add_if_there(
          {.metric = metric, .source = source, .path = entry.path() / file, .scale = *bytes},
          table);
    }
  }
  if (numbers_.empty())
    table.unavailable("host.hugepages.total, host.hugepages.free", "no huge pages are reserved");
}

NfsReader::NfsReader(const fs::path& root, SeriesTable& table) {
  auto file = ProcFile::open(root / "proc/self/mountstats");
  if (!file) {
    table.unavailable("host.nfs.*", file.error().message);
    return;
  }
  file_ = *std::move(file);
  parsed_.resize(kMostMounts);
  const std::size_t count = parse_mountstats(file_->read(), parsed_);
  if (count == 0) {
    file_.reset();
    table.unavailable("host.nfs.*", "no NFS is mounted");
    return;
  }
  for (std::size_t i = 0; i < count; ++i) {
    const std::string point(parsed_[i].point);
    mounts_.push_back({.point = point,
                       .read = table.add("host.nfs.read", point),
                       .write = table.add("host.nfs.write", point),
                       .operations = table.add("host.nfs.operations", point),
                       .retransmits = table.add("host.nfs.retransmits", point),
                       .rtt = table.add("host.nfs.rtt", point),
                       .total = table.add("host.nfs.time", point)});
  }
}

void NfsReader::sample(Row& row) {
  if (!file_) return;
  const std::size_t count = parse_mountstats(file_->read(), parsed_);
  // In the order of mounting: one that is gone moves those after it up.
  for (std::size_t i = 0, at = 0; i < count && at < mounts_.size(); ++i) {
    std::size_t mount = at;
    while (mount < mounts_.size() && mounts_[mount].point != parsed_[i].point) ++mount;
    if (mount == mounts_.size()) continue;
    at = mount + 1;
    row.set(mounts_[mount].read, parsed_[i].read_bytes);
    row.set(mounts_[mount].write, parsed_[i].write_bytes);
    row.set(mounts_[mount].operations, parsed_[i].operations);
    row.set(mounts_[mount].retransmits, parsed_[i].retransmits);
    row.set(mounts_[mount].rtt, number(parsed_[i].rtt_ms) * kMilli);
    row.set(mounts_[mount].total, number(parsed_[i].total_ms) * kMilli);
  }
}

}  // namespace corral::collect::node
