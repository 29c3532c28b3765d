// Descriptors of processes, by system call: this C library's header lacks C linkage.
#pragma once

#include <sys/syscall.h>
#include <unistd.h>

#include "sys/fd.h"

namespace corral::run::schedule {

// Readable once the process has ended; invalid when it is gone.
inline sys::Fd open_process(pid_t pid) {
  return sys::Fd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
}
inline void signal_process(const sys::Fd& process, int signal) {
  ::syscall(SYS_pidfd_send_signal, process.get(), signal, nullptr, 0);
}

}  // namespace corral::run::schedule
