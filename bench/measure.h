// The cost of a process (CPU, memory, disk) and percentiles, for the benchmarks that are programs.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <vector>

namespace corral::bench {

// CPU seconds of this process, all threads.
double process_cpu();
// Returns the CPU time of that process, its living descendants, and their children that ended; 0
// for pid 0.
double tree_cpu(pid_t pid);
// Peak resident memory in bytes since start or since reset_peak_rss().
std::int64_t peak_rss();
void reset_peak_rss();

// Bytes that all files below the directory take on disk.
std::int64_t bytes_on_disk(const std::filesystem::path& directory);
// The kernel forgets what it holds of the files below the directory.
void drop_page_cache(const std::filesystem::path& directory);

class Stopwatch {
 public:
  [[nodiscard]] double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - began_).count();
  }
  [[nodiscard]] double ms() const { return seconds() * 1e3; }

 private:
  std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
};

// 0 when there are none.
double percentile(std::vector<double> values, double share);

}  // namespace corral::bench
