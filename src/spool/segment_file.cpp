#include "spool/segment_file.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "spool/segment_format.h"

namespace corral::spool {
namespace {

bool ends_with(const char* name, const char* suffix) {
  const std::size_t n = std::strlen(name);
  const std::size_t m = std::strlen(suffix);
  return n >= m && std::strcmp(name + n - m, suffix) == 0;
}

}  // namespace

std::uint64_t spool_bytes(const char* directory) {
  DIR* dir = ::opendir(directory);
  if (dir == nullptr) return UINT64_MAX;
  std::uint64_t sum = 0;
  while (const dirent* entry = ::readdir(dir)) {
    struct stat info {};
    if ((ends_with(entry->d_name, ".seg") || ends_with(entry->d_name, ".tmp")) &&
        ::fstatat(::dirfd(dir), entry->d_name, &info, AT_SYMLINK_NOFOLLOW) == 0) {
      sum += static_cast<std::uint64_t>(info.st_size);
    }
  }
  ::closedir(dir);
  return sum;
}

int reserve_file(const char* path, std::uint64_t bytes) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
      bytes > limit.rlim_cur) {
    return -1;
  }
  int fd = ::open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  // When the script closed a standard stream, its output must not land here.
  if (fd >= 0 && fd <= STDERR_FILENO) {
    const int moved = ::fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    ::close(fd);
    if (moved < 0) ::unlink(path);
    fd = moved;
  }
  if (fd < 0) return -1;
  int failed = EINTR;
  for (int i = 0; i < 100 && failed == EINTR; ++i) {
    failed = ::posix_fallocate(fd, 0, static_cast<off_t>(bytes));
  }
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  lock.l_len = 1;
  if (failed == 0 && ::fcntl(fd, F_SETLK, &lock) == 0) return fd;
  ::close(fd);
  ::unlink(path);
  return -1;
}

std::uint64_t* map_drops(const char* directory) {
  char path[kPathBytes];
  std::snprintf(path, sizeof path, "%s/%s", directory, kDropsName);
  const int fd = ::open(path, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0) return nullptr;
  struct stat info {};
  void* memory = MAP_FAILED;
  if (::fstat(fd, &info) == 0 && info.st_size >= static_cast<off_t>(kDropsBytes) &&
      ::posix_fallocate(fd, 0, kDropsBytes) == 0) {
    memory = ::mmap(nullptr, kDropsBytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  }
  ::close(fd);
  return memory == MAP_FAILED ? nullptr : static_cast<std::uint64_t*>(memory);
}

}  // namespace corral::spool
