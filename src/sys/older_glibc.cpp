// Functions of libc for the packages, which are linked for glibc 2.28: it has these since 2.30 and
// 2.32. Other builds leave this file out.
#include <dirent.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstddef>

extern "C" {

pid_t gettid() noexcept { return static_cast<pid_t>(::syscall(SYS_gettid)); }

ssize_t getdents64(int fd, void* buffer, std::size_t size) noexcept {
  return ::syscall(SYS_getdents64, fd, buffer, size);
}

const char* sigabbrev_np(int number) noexcept {
  // The signals of Linux on x86-64 and ARM64, from 1 on.
  constexpr std::array kNames = {
      "HUP",  "INT",  "QUIT", "ILL",    "TRAP",   "ABRT",  "BUS",  "FPE",  "KILL", "USR1", "SEGV",
      "USR2", "PIPE", "ALRM", "TERM",   "STKFLT", "CHLD",  "CONT", "STOP", "TSTP", "TTIN", "TTOU",
      "URG",  "XCPU", "XFSZ", "VTALRM", "PROF",   "WINCH", "POLL", "PWR",  "SYS"};
  const auto index = static_cast<std::size_t>(number) - 1;
  return number > 0 && index < kNames.size() ? kNames[index] : nullptr;
}

}  // extern "C"
