#include "collocate/device_locks.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>

#include "core/text.h"
#include "core/time.h"
#include "sys/clock.h"

namespace corral::collocate {
namespace {

constexpr mode_t kForAll = 0666;
constexpr std::size_t kLongestHolder = 400;

fs::path lock_path(const fs::path& directory, const std::string& device) {
  std::string name = device;
  for (char& c : name) {
    if (c == '/' || c == '\0') c = '_';
  }
  return directory / ("corral-" + name + ".lock");
}

// The file belongs to all users; a replacement by another user (a link, a pipe, a second name of
// some other file) is neither written nor waited for.
Result<sys::Fd> checked(Result<sys::Fd> file, const fs::path& path) {
  struct stat info {};
  if (!file) return file;
  if (::fstat(file->get(), &info) != 0) return fail_errno(path.string(), errno);
  if (!S_ISREG(info.st_mode) || info.st_nlink > 1)
    return fail(Code::kPermission, path.string() + ": not a regular file with one name; remove it");
  return file;
}

// Created only if it is missing: in a directory for all, kernels refuse O_CREAT on a file of
// another user.
Result<sys::Fd> open_file_for_all(const fs::path& path) {
  constexpr int kWait = O_NOFOLLOW | O_NONBLOCK;
  for (int attempt = 0; attempt < 10; ++attempt) {
    auto file = sys::open_file(path, O_RDWR | kWait);
    // Locking needs no more than reading.
    if (!file && file.error().code != Code::kNotFound)
      file = sys::open_file(path, O_RDONLY | kWait);
    if (file || file.error().code != Code::kNotFound) return checked(std::move(file), path);
    file = sys::open_file(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, kForAll);
    if (file) ::fchmod(file->get(), kForAll);  // independent of the umask
    if (file || file.error().code != Code::kAlreadyExists) return file;
  }
  return fail(Code::kUnavailable, path.string() + ": comes and goes");
}

// Returns "plan.csv, workload 7 (process 4711, since 2026-…)", as the holder wrote it: another
// user's text.
std::string holder_in(int file) {
  std::string text(kLongestHolder, '\0');
  const ssize_t n = ::pread(file, text.data(), text.size(), 0);
  text.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
  std::erase_if(text, [](char c) { return static_cast<unsigned char>(c) < ' ' || c == 0x7f; });
  return text.empty() ? "another process" : to_utf8(text);
}

Result<sys::Fd> lock_one(const fs::path& directory, const std::string& device,
                         const std::string& holder) {
  const fs::path path = lock_path(directory, device);
  sys::Fd file = TRY(open_file_for_all(path));
  while (::flock(file.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno == EINTR) continue;
    if (errno != EWOULDBLOCK) return fail_errno(path.string(), errno);
    return fail(Code::kUnavailable, fmt::format("{}: used by {}", device, holder_in(file.get())));
  }
  const std::string words =
      fmt::format("{} (process {}, since {})\n", holder, ::getpid(), iso_utc(sys::utc_now()));
  // The rest of an older, longer text is removed; a read-only file names no holder.
  if (::ftruncate(file.get(), 0) == 0) static_cast<void>(sys::write_all(file.get(), words));
  return file;
}

}  // namespace

fs::path DeviceLocks::machine_directory() {
  const char* chosen = std::getenv("CORRAL_LOCKS");
  if (chosen != nullptr && *chosen == '/') return chosen;
  // A directory that only this user may write does not count: all users must meet in the same
  // place.
  struct stat info {};
  const bool for_all = ::stat("/run/lock", &info) == 0 && (info.st_mode & S_IWOTH) != 0;
  return for_all ? "/run/lock" : "/tmp";
}

Result<DeviceLocks> DeviceLocks::take(const fs::path& directory, std::vector<std::string> devices,
                                      const std::string& holder) {
  TRY(sys::make_directories(directory));
  std::ranges::sort(devices);
  devices.erase(std::unique(devices.begin(), devices.end()), devices.end());
  DeviceLocks locks;
  std::vector<std::string> problems;
  Code code = Code::kUnavailable;
  for (const std::string& device : devices) {
    auto file = lock_one(directory, device, holder);
    if (file) {
      locks.files_.push_back(std::move(*file));
      continue;
    }
    problems.push_back(file.error().message);
    if (file.error().code != Code::kUnavailable) code = file.error().code;
  }
  if (!problems.empty()) return fail(code, join(problems, "\n"));
  return locks;
}

}  // namespace corral::collocate
