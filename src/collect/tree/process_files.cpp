#include "collect/tree/process_files.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <utility>

#include "collect/proc_file.h"
#include "collect/scan.h"
#include "sys/file.h"

namespace corral::collect::tree {
namespace {

// A children file of 4,096 pids takes 32 KiB.
constexpr std::size_t kBufferBytes = 64u << 10;

constexpr std::array<std::string_view, kProcessFiles> kNames{"/stat", "/statm", "/io", "/status",
                                                             ""};

constexpr std::array<std::string_view, kThreadFiles> kThreadNames{"schedstat", "syscall", "statm"};

}  // namespace

ProcessFiles::ProcessFiles(const std::filesystem::path& root)
    : room_(std::make_unique_for_overwrite<char[]>(kBufferBytes)),
      buffer_(room_.get(), kBufferBytes) {
  if (auto proc = sys::open_file(root / "proc", O_RDONLY | O_DIRECTORY)) proc_ = *std::move(proc);
  if (auto load = sys::open_file(root / "proc/loadavg", O_RDONLY)) load_ = *std::move(load);
  struct statfs of_what {};
  if (load_ && (::fstatfs(load_.get(), &of_what) != 0 || of_what.f_type != PROC_SUPER_MAGIC))
    load_.reset();
}

std::optional<std::string_view> ProcessFiles::read_path(const char* path, sys::Fd* kept,
                                                        bool list) {
  sys::Fd own;
  sys::Fd& fd = kept != nullptr ? *kept : own;
  if (!fd) fd.reset(::openat(proc_.get(), path, O_RDONLY | O_CLOEXEC));
  if (!fd) return std::nullopt;
  const std::ptrdiff_t n =
      list ? read_from_start(fd.get(), buffer_) : read_record(fd.get(), buffer_);
  if (n < 0) return std::nullopt;
  return std::string_view(buffer_.data(), static_cast<std::size_t>(n));
}

std::optional<std::string_view> ProcessFiles::read(pid_t pid, ProcessFile file, Kept* kept) {
  const auto at = static_cast<std::size_t>(file);
  sys::Fd* fd = kept != nullptr ? &(*kept)[at] : nullptr;
  const bool list = file == ProcessFile::kChildren;
  if (fd != nullptr && *fd) return read_path("", fd, list);
  const ShortPath path =
      list ? ShortPath("{}/task/{}/children", pid, pid) : ShortPath("{}{}", pid, kNames[at]);
  return read_path(path.c_str(), fd, list);
}

std::optional<std::string_view> ProcessFiles::read_thread(pid_t pid, pid_t thread, ThreadFile file,
                                                          sys::Fd* kept) {
  if (kept != nullptr && *kept) return read_path("", kept, false);
  const std::string_view name = kThreadNames[static_cast<std::size_t>(file)];
  return read_path(ShortPath("{}/task/{}/{}", pid, thread, name).c_str(), kept, false);
}

std::string_view ProcessFiles::read_descriptor(pid_t pid, std::uint64_t number) {
  const ShortPath path("{}/fd/{}", pid, number);
  const ssize_t n = ::readlinkat(proc_.get(), path.c_str(), buffer_.data(), buffer_.size());
  return {buffer_.data(), n > 0 ? static_cast<std::size_t>(n) : 0};
}

std::optional<std::string_view> ProcessFiles::read_children(pid_t pid, pid_t thread) {
  return read_path(ShortPath("{}/task/{}/children", pid, thread).c_str(), nullptr, true);
}

// "0.20 0.18 0.12 1/80 11206"
std::optional<std::uint64_t> ProcessFiles::newest_task() const {
  std::array<char, 128> buffer;
  const std::ptrdiff_t n = load_ ? read_record(load_.get(), buffer) : -1;
  if (n <= 0) return std::nullopt;
  const std::string_view text(buffer.data(), static_cast<std::size_t>(n));
  std::uint64_t task = 0;
  if (!Scanner(text.substr(text.rfind(' ') + 1)).number(task) || task == 0) return std::nullopt;
  return task;
}

std::size_t ProcessFiles::list_threads(pid_t pid, std::span<pid_t> out) {
  const sys::Fd directory(
      ::openat(proc_.get(), ShortPath("{}/task", pid).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  std::size_t count = 0;
  for (;;) {
    const ssize_t n = directory ? ::getdents64(directory.get(), buffer_.data(), buffer_.size()) : 0;
    if (n <= 0) return count;
    for (std::size_t at = 0; at < static_cast<std::size_t>(n);) {
      std::uint16_t length = 0;
      std::memcpy(&length, buffer_.data() + at + offsetof(dirent64, d_reclen), sizeof length);
      std::uint64_t thread = 0;
      if (Scanner(buffer_.data() + at + offsetof(dirent64, d_name)).number(thread) &&
          count < out.size()) {
        out[count++] = static_cast<pid_t>(thread);
      }
      at += length;
    }
  }
}

}  // namespace corral::collect::tree
