#include "collect/node/node_listener.h"

#include <array>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "collect/key_value_file.h"
#include "collect/node/parse.h"
#include "collect/proc_file.h"
#include "collect/scan.h"
#include "collect/sysfs/number_file.h"
#include "core/text.h"

namespace corral::collect {
namespace node {
namespace {

namespace fs = std::filesystem;

constexpr double kMilli = 1e-3;
constexpr std::size_t kMostMounts = 32;
constexpr double kKib = 1024;

// "2048kB" of "hugepages-2048kB", in bytes.
std::optional<double> huge_page_bytes(std::string_view directory) {
  constexpr std::string_view kPrefix = "hugepages-";
  if (!directory.starts_with(kPrefix) || !directory.ends_with("kB")) return std::nullopt;
  directory.remove_prefix(kPrefix.size());
  const auto kib = parse_int(directory.substr(0, directory.size() - 2));
  if (!kib || *kib <= 0) return std::nullopt;
  return static_cast<double>(*kib) * kKib;
}

// Reclaim, compaction, transparent huge pages and NUMA balancing.
KeyValueFile open_reclaim(const fs::path& root, SeriesTable& table) {
  const auto lines = std::to_array<KeyValueFile::Line>({
      {"numa_hint_faults", "host.numa.hint_faults"},
      {"numa_pages_migrated", "host.numa.migrated", page_bytes()},
      {"workingset_refault_file", "host.paging.refaults", page_bytes()},
      {"pgsteal_kswapd", "host.paging.reclaimed", page_bytes()},
      {"pgsteal_direct", "host.paging.reclaimed_directly", page_bytes()},
      {"compact_stall", "host.paging.compaction_stalls"},
      {"thp_fault_alloc", "host.hugepages.faults"},
      {"thp_fault_fallback", "host.hugepages.fallbacks"},
  });
  KeyValueFile file(open_or_report(root / "proc/vmstat", "host.numa.*", table));
  file.add(lines, "", table, KeyValueFile::Missing::kReported);
  return file;
}

// Memory of each NUMA node and where it was given out; only of machines with several.
class NumaReader {
 public:
  NumaReader(const std::filesystem::path& root, SeriesTable& table) {
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
        table.unavailable("host.numa.memory.*", name,
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

  void sample(Row& row) {
    constexpr std::array<std::string_view, 3> kKeys{"numa_miss", "local_node", "other_node"};
    for (Node& node : nodes_) {
      const std::string_view memory = node.memory.read();
      std::uint64_t kib = 0;
      if (parse_node_value(memory, "MemUsed", kib))
        row.set(node.used, static_cast<double>(kib) * kKib);
      if (parse_node_value(memory, "MemFree", kib))
        row.set(node.free, static_cast<double>(kib) * kKib);
      std::array<std::uint64_t, 3> values{};
      const std::uint32_t found = find_values(node.placement.read(), kKeys, values);
      const std::array<Column, 3> columns{node.misses, node.local, node.remote};
      for (std::size_t i = 0; i < columns.size(); ++i) {
        if ((found >> i & 1u) != 0)
          row.set(columns[i], static_cast<double>(values[i]) * page_bytes());
      }
    }
  }

 private:
  struct Node {
    ProcFile memory, placement;
    Column used, free, local, remote, misses;
  };
  std::vector<Node> nodes_;
};

// Huge pages that are set aside (hugetlb), by size; transparent ones are in /proc/meminfo.
class HugePageReader {
 public:
  HugePageReader(const std::filesystem::path& root, SeriesTable& table) {
    const fs::path directory = root / "sys/kernel/mm/hugepages";
    std::error_code failed;
    for (const auto& entry : fs::directory_iterator(directory, failed)) {
      const auto bytes = huge_page_bytes(entry.path().filename().string());
      const auto pages = sysfs::parse_number(sysfs::read_text(entry.path() / "nr_hugepages"));
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

  void sample(Row& row) const { numbers_.sample(kSlowGroup, row); }

 private:
  sysfs::NumberFiles numbers_;
};

constexpr auto kNfsMetrics = std::to_array<NumberMetric<NfsMount>>({
    {"host.nfs.read", &NfsMount::read_bytes},
    {"host.nfs.write", &NfsMount::write_bytes},
    {"host.nfs.operations", &NfsMount::operations},
    {"host.nfs.retransmits", &NfsMount::retransmits},
    {"host.nfs.rtt", &NfsMount::rtt_ms, kMilli},
    {"host.nfs.time", &NfsMount::total_ms, kMilli},
});

// The NFS mounts that there are at the start, at most 32.
class NfsReader {
 public:
  NfsReader(const std::filesystem::path& root, SeriesTable& table) {
    file_ = open_or_report(root / "proc/self/mountstats", "host.nfs.*", table);
    if (!file_) return;
    parsed_.resize(kMostMounts);
    const std::size_t count = parse_mountstats(file_->read(), parsed_);
    if (count == 0) {
      file_.reset();
      table.unavailable("host.nfs.*", "no NFS is mounted");
      return;
    }
    for (std::size_t i = 0; i < count; ++i) {
      Mount& mount = mounts_.emplace_back();
      mount.point = parsed_[i].point;
      add_columns(kNfsMetrics, mount.point, mount.columns, table);
    }
  }

  void sample(Row& row) {
    if (!file_) return;
    const std::size_t count = parse_mountstats(file_->read(), parsed_);
    // In the order of mounting: one that is gone moves those after it up.
    for (std::size_t i = 0, at = 0; i < count && at < mounts_.size(); ++i) {
      std::size_t mount = at;
      while (mount < mounts_.size() && mounts_[mount].point != parsed_[i].point) ++mount;
      if (mount == mounts_.size()) continue;
      at = mount + 1;
      set_columns(kNfsMetrics, parsed_[i], mounts_[mount].columns, row);
    }
  }

 private:
  struct Mount {
    std::string point;
    std::array<Column, kNfsMetrics.size()> columns{};
  };
  std::optional<ProcFile> file_;
  std::vector<Mount> mounts_;
  std::vector<NfsMount> parsed_;
};

class NodeListener final : public Listener {
 public:
  NodeListener(const std::filesystem::path& root, SeriesTable& table)
      : reclaim_(open_reclaim(root, table)),
        numa_(root, table),
        huge_pages_(root, table),
        nfs_(root, table) {}

  void sample_fast(Row&) override {}
  void sample_slow(Row& row) override {
    reclaim_.sample(row);
    numa_.sample(row);
    huge_pages_.sample(row);
    nfs_.sample(row);
  }

 private:
  KeyValueFile reclaim_;
  NumaReader numa_;
  HugePageReader huge_pages_;
  NfsReader nfs_;
};

}  // namespace
}  // namespace node

std::unique_ptr<Listener> open_node_listener(const ListenerContext& context, SeriesTable& table) {
  const std::size_t before = table.series(kSlowGroup).size();
  auto listener = std::make_unique<node::NodeListener>(context.root, table);
  if (table.series(kSlowGroup).size() == before) return nullptr;
  return listener;
}

}  // namespace corral::collect
