#include "collect/drm/open_files.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>

#include "collect/proc_file.h"
#include "collect/scan.h"
#include "sys/file.h"

namespace corral::collect::drm {
namespace {

constexpr std::size_t kBufferBytes = 32u << 10;

// Nodes of /dev/dri, under any path of that directory in the process's view.
bool is_gpu(std::string_view target) {
  return target.find("/dri/render") != std::string_view::npos ||
         target.find("/dri/card") != std::string_view::npos;
}

}  // namespace

OpenFiles::OpenFiles(const std::filesystem::path& root, Limits limits)
    : limits_(limits), buffer_(kBufferBytes) {
  files_.reserve(limits_.files);
  if (auto proc = sys::open_file(root / "proc", O_RDONLY | O_DIRECTORY)) proc_ = *std::move(proc);
}

void OpenFiles::search(std::span<const pid_t> processes) {
  if (processes.empty()) return;
  std::size_t left = limits_.links;
  next_ %= processes.size();
  for (std::size_t i = 0; i < processes.size() && left > 0; ++i) {
    left -= search_process(processes[next_], left);
    next_ = (next_ + 1) % processes.size();
  }
}

std::size_t OpenFiles::search_process(pid_t process, std::size_t most) {
  const sys::Fd directory(::openat(proc_.get(), ShortPath("{}/fd", process).c_str(),
                                   O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  std::size_t followed = 0;
  while (directory) {
    const ssize_t n = ::getdents64(directory.get(), buffer_.data(), buffer_.size());
    if (n <= 0) break;
    for (std::size_t at = 0; at < static_cast<std::size_t>(n);) {
      if (followed++ == most) return most;
      std::uint16_t length = 0;
      std::memcpy(&length, buffer_.data() + at + offsetof(dirent64, d_reclen), sizeof length);
      add_if_gpu(directory.get(), buffer_.data() + at + offsetof(dirent64, d_name), process);
      at += length;
    }
  }
  return followed;
}

void OpenFiles::add_if_gpu(int directory, const char* name, pid_t process) {
  std::uint64_t number = 0;
  if (!Scanner(name).number(number)) return;
  std::array<char, 256> target;
  const ssize_t size = ::readlinkat(directory, name, target.data(), target.size());
  if (size <= 0 || !is_gpu({target.data(), static_cast<std::size_t>(size)})) return;
  const File file{.process = process, .number = static_cast<int>(number)};
  const auto at = std::ranges::lower_bound(files_, file);
  if (at != files_.end() && *at == file) return;
  left_out_ = left_out_ || files_.size() == limits_.files;
  if (files_.size() < limits_.files) files_.insert(at, file);
}

void OpenFiles::read(const std::function<bool(pid_t, std::string_view)>& take) {
  const auto is_over = [&](const File& file) {
    const sys::Fd info(::openat(proc_.get(),
                                ShortPath("{}/fdinfo/{}", file.process, file.number).c_str(),
                                O_RDONLY | O_CLOEXEC));
    const std::ptrdiff_t size = info ? read_from_start(info.get(), buffer_) : -1;
    return size < 0 || !take(file.process, {buffer_.data(), static_cast<std::size_t>(size)});
  };
  std::erase_if(files_, is_over);
}

}  // namespace corral::collect::drm
