// ProcessFiles: reads the files of single processes below /proc without allocating.
//
// One buffer serves every read: a view is valid until the next call. Files of a process may be kept
// open (three times cheaper, and a kept file never shows a later process of the same pid). One
// thread at a time.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "sys/fd.h"

namespace corral::collect::tree {

enum class ProcessFile : std::uint8_t { kStat, kStatm, kIo, kStatus, kChildren };
inline constexpr std::size_t kProcessFiles = 5;

enum class ThreadFile : std::uint8_t { kSchedstat, kSyscall, kStatm };
inline constexpr std::size_t kThreadFiles = 3;

class ProcessFiles {
 public:
  using Kept = std::array<sys::Fd, kProcessFiles>;

  explicit ProcessFiles(const std::filesystem::path& root);

  // The whole file; nothing, with errno, when it cannot be read (ENOENT or ESRCH: the process is
  // gone). `kept`, when given, keeps the file open for the next time.
  std::optional<std::string_view> read(pid_t pid, ProcessFile file, Kept* kept);
  // The same for a file below /proc/PID/task/TID.
  std::optional<std::string_view> read_thread(pid_t pid, pid_t thread, ThreadFile file,
                                              sys::Fd* kept);
  // The target of /proc/PID/fd/N: a path, "pipe:[1234]", "socket:[1234]"; empty if not readable.
  std::string_view read_descriptor(pid_t pid, std::uint64_t number);
  // /proc/PID/task/TID/children.
  std::optional<std::string_view> read_children(pid_t pid, pid_t thread);
  // Thread ids of a process; how many were filled.
  std::size_t list_threads(pid_t pid, std::span<pid_t> out);
  // The number of the newest process or thread, of which there is another after each start; nothing
  // where /proc/loadavg does not tell (LXC puts one of its own there, gVisor writes 0).
  [[nodiscard]] std::optional<std::uint64_t> newest_task() const;

 private:
  // `list`: of many records, not one.
  std::optional<std::string_view> read_path(const char* path, sys::Fd* kept, bool list);

  sys::Fd proc_;
  sys::Fd load_;
  std::unique_ptr<char[]> room_;  // pages that nothing is read into take no memory
  std::span<char> buffer_;        // all of it
};

}  // namespace corral::collect::tree
