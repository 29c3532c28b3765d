// The readers behind listener "cgroup": the group's CPU time and throttling, memory, I/O, tasks and
// pressure, of v1, v2 or a mix of both.
//
// A limit may be set at the group or anywhere above it: the tightest one counts, and throttling is
// read where the tightest CPU quota is. Opened on the supervisor's thread, then read by the
// sampler's, without allocation.
#pragma once

#include <array>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "collect/cgroup/parse.h"
#include "collect/proc_file.h"
#include "collect/series.h"
#include "collect/sysfs/number_file.h"

namespace corral::collect::cgroup {

// A group's directory and those above it, up to where its hierarchy is mounted.
struct Chain {
  bool unified = false;
  std::string name;
  std::vector<std::filesystem::path> directories;  // the group's own first
  [[nodiscard]] const std::filesystem::path& own() const { return directories.front(); }
};

// Finds the group of a process for each controller.
class Finder {
 public:
  Finder(std::filesystem::path root, pid_t pid);
  // An error when there is none or when it is the root group.
  [[nodiscard]] Result<Chain> find(std::string_view controller) const;
  // As find(), with the error reported under `metrics`.
  std::optional<Chain> find_or_tell(std::string_view controller, std::string_view metrics,
                                    SeriesTable& table) const;

 private:
  std::filesystem::path root_;
  std::string error_;
  std::vector<Membership> memberships_;
  std::vector<Mount> mounts_;
};

// Lines "key value" of one file, some of which become columns.
class KeyFile {
 public:
  struct Line {
    std::string_view key;
    std::string_view metric;
    double scale = 1;
  };
  KeyFile() = default;
  // Declares the series of the file; none if it cannot be read.
  KeyFile(const std::filesystem::path& path, std::span<const Line> lines, const std::string& source,
          SeriesTable& table);
  // More columns of the same file.
  void add(std::span<const Line> lines, const std::string& source, SeriesTable& table);
  void sample(Row& row);

 private:
  std::optional<ProcFile> file_;
  std::vector<std::string_view> keys_;
  std::vector<std::uint64_t> values_;
  std::vector<Column> columns_;
  std::vector<double> scales_;
};

// The CPU quota of one group, in cores; nothing while it has none.
class Quota {
 public:
  Quota(bool unified, const std::filesystem::path& directory);
  [[nodiscard]] std::optional<double> read();

 private:
  std::optional<ProcFile> max_;                     // v2: "50000 100000"
  std::optional<sysfs::NumberFile> time_, period_;  // v1
};

class CpuReader {
 public:
  CpuReader(const Finder& finder, SeriesTable& table);
  void sample_fast(Row& row);
  void sample_slow(Row& row);

 private:
  // The file of used_v2_; empty: there is none.
  std::filesystem::path open_usage(const Finder& finder, SeriesTable& table);

  sysfs::NumberFiles used_v1_;
  KeyFile used_v2_;
  KeyFile throttled_;
  std::vector<Quota> quotas_;  // quotas of the group and of those above it
  Column limit_ = kNoColumn;
};

class MemoryReader {
 public:
  MemoryReader(const Finder& finder, SeriesTable& table);
  void sample_fast(Row& row) const { numbers_.sample(kFastGroup, row); }
  void sample_slow(Row& row);

 private:
  void open_v1(const Chain& chain, SeriesTable& table);
  void open_v2(const Chain& chain, SeriesTable& table);

  sysfs::NumberFiles numbers_;
  std::vector<sysfs::NumberFile> limits_;
  Column limit_ = kNoColumn;
  KeyFile stat_, events_;
};

class IoReader {
 public:
  IoReader(const std::filesystem::path& root, const Finder& finder, SeriesTable& table);
  void sample_slow(Row& row);

 private:
  std::vector<std::uint64_t> skipped_;
  std::optional<ProcFile> stat_;                // v2
  bool seen_ = false;                           // it had something to say
  std::optional<ProcFile> bytes_, operations_;  // v1
  Column read_ = kNoColumn, write_ = kNoColumn, reads_ = kNoColumn, writes_ = kNoColumn;
};

class TaskReader {
 public:
  TaskReader(const Finder& finder, SeriesTable& table);
  void sample_slow(Row& row) const { numbers_.sample(kSlowGroup, row); }

 private:
  sysfs::NumberFiles numbers_;
};

class PressureReader {
 public:
  PressureReader(const Finder& finder, SeriesTable& table);
  void sample_fast(Row& row);

 private:
  struct Resource {
    std::optional<ProcFile> file;
    Column some = kNoColumn, full = kNoColumn;
  };
  std::array<Resource, 3> resources_;
};

}  // namespace corral::collect::cgroup
