// Functions of libc whose versions in a new glibc would keep the module out of older systems, as
// system calls: with them one file loads with every glibc from 2.17 on and with musl (whose loader
// takes libc.so.6 for itself). The linker puts them in place of libc's (--wrap, CMakeLists.txt).
//
// The kernel's struct stat is libc's where this is built: x86-64 and aarch64.
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

#if !defined(__x86_64__) && !defined(__aarch64__)
#error "struct stat of this machine's kernel has not been compared with that of its libc"
#endif

extern "C" {

int portable_fstat(int fd, struct stat* out) __asm__("__wrap_fstat");
int portable_fstatat(int directory, const char* path, struct stat* out,
                     int flags) __asm__("__wrap_fstatat");
ssize_t portable_getrandom(void* out, size_t size, unsigned flags) __asm__("__wrap_getrandom");

int portable_fstat(int fd, struct stat* out) {
  return static_cast<int>(::syscall(SYS_fstat, fd, out));
}

int portable_fstatat(int directory, const char* path, struct stat* out, int flags) {
  return static_cast<int>(::syscall(SYS_newfstatat, directory, path, out, flags));
}

ssize_t portable_getrandom(void* out, size_t size, unsigned flags) {
  return ::syscall(SYS_getrandom, out, size, flags);
}

}  // extern "C"
