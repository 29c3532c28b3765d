// FirstProcess: the first process of a container, which the container's tool starts and ends.
//
// The tool starts before the command's first instruction and ends after its last one. The process
// waits inside the container before its exec; the exec changes its command line. One thread.
#pragma once

#include <sys/types.h>

#include <string>

#include "sys/fd.h"

namespace corral::run {

class FirstProcess {
 public:
  // `waits`: the process has not executed the command yet.
  FirstProcess(pid_t pid, bool waits);
  // True from the command's first instruction on. Reads /proc.
  [[nodiscard]] bool executes() const;
  [[nodiscard]] bool ended() const;
  // A descriptor that is readable once the process has ended; -1: not supported by the kernel.
  [[nodiscard]] int descriptor() const { return process_.get(); }

 private:
  [[nodiscard]] std::string words() const;
  pid_t pid_;
  sys::Fd process_;
  std::string waiting_;  // the command line before the exec; empty: it does not wait
};

}  // namespace corral::run
