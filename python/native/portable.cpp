// Functions of libc whose versions in a new glibc would keep the module out of older systems, as
// system calls: with them one file loads with every glibc from 2.17 on and with musl (whose loader
// takes libc.so.6 for itself). The linker takes these, which only the module sees, before libc's.
//
// The kernel's struct stat is libc's where this is built: x86-64 and aarch64.
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

#if !defined(__x86_64__) && !defined(__aarch64__)
#error "struct stat of this machine's kernel has not been compared with that of its libc"
#endif

#define HIDDEN __attribute__((visibility("hidden")))

extern "C" {

HIDDEN int fstat(int fd, struct stat* out) noexcept {
  return static_cast<int>(::syscall(SYS_fstat, fd, out));
}

HIDDEN int fstatat(int directory, const char* path, struct stat* out, int flags) noexcept {
  return static_cast<int>(::syscall(SYS_newfstatat, directory, path, out, flags));
}

}  // extern "C"
