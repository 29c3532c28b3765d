// Signals by pidfd: a number that has become another process's is never hit. By system call: this C
// library's own header cannot be linked from C++.
#pragma once

#include <sys/syscall.h>
#include <unistd.h>

#include "sys/fd.h"

namespace corral::sys {

// To a process of open_process(); nothing happens when it is gone.
inline void signal_process(const Fd& process, int signal) {
  ::syscall(SYS_pidfd_send_signal, process.get(), signal, nullptr, 0);
}

}  // namespace corral::sys
