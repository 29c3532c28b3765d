// The readers behind listener "node": NUMA nodes, huge pages and NFS mounts. Each declares its
// series at open and fills them once a second; missing ones are reported and cost nothing.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "collect/node/parse.h"
#include "collect/proc/readers.h"
#include "collect/proc_file.h"
#include "collect/series.h"
#include "collect/sysfs/number_file.h"

namespace corral::collect::node {

// Reclaim, compaction, transparent huge pages and NUMA balancing, of /proc/vmstat.
proc::KeyValueReader reclaim_reader(const std::filesystem::path& root, SeriesTable& table);

// Memory of each NUMA node and where it was given out; only of machines with several.
class NumaReader {
 public:
  NumaReader(const std::filesystem::path& root, SeriesTable& table);
  void sample(Row& row);

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
  HugePageReader(const std::filesystem::path& root, SeriesTable& table);
  void sample(Row& row) const { numbers_.sample(kSlowGroup, row); }

 private:
  sysfs::NumberFiles numbers_;
};

// The NFS mounts that there are at the start, at most 32.
class NfsReader {
 public:
  NfsReader(const std::filesystem::path& root, SeriesTable& table);
  void sample(Row& row);

 private:
  struct Mount {
    std::string point;
    Column read, write, operations, retransmits, rtt, total;
  };
  std::optional<ProcFile> file_;
  std::vector<Mount> mounts_;
  std::vector<NfsMount> parsed_;
};

}  // namespace corral::collect::node
