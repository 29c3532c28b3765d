// The segment writer's dealings with the file system. By libc alone, without exceptions: it runs
// inside the training process.
#pragma once

#include <cstddef>
#include <cstdint>

namespace corral::spool {

inline constexpr std::size_t kPathBytes = 4096;

// Sum of the sizes of all segments in the directory, finished or not; UINT64_MAX when it cannot be
// read.
std::uint64_t spool_bytes(const char* directory);
// A new file, reserved whole and locked; its descriptor, or -1. Never a signal: the size is checked
// against RLIMIT_FSIZE first.
int reserve_file(const char* path, std::uint64_t bytes);
// The shared counter of refused calls, mapped; null when there is none or no room for it.
std::uint64_t* map_drops(const char* directory);

}  // namespace corral::spool
