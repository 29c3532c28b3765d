// First process: a container's, which its tool starts and ends.
//
// The tool is executed before the command's first instruction and ends after its last one. The
// process waits inside the container before its exec; its command line changes with that. One
// thread.
#pragma once

#include <sys/types.h>

#include <string>

#include "sys/fd.h"

namespace corral::run {

class FirstProcess {
 public:
  // `waits`: it has not executed the command yet.
  FirstProcess(pid_t pid, bool waits);
  // True from the command's first instruction on. Asks /proc.
  [[nodiscard]] bool executes() const;
  [[nodiscard]] bool ended() const;
  // Readable once it has ended; -1: the kernel has none.
  [[nodiscard]] int descriptor() const { return process_.get(); }

 private:
  [[nodiscard]] std::string words() const;
  pid_t pid_;
  sys::Fd process_;
  std::string waiting_;  // its command line before the exec; empty: it does not wait
};

}  // namespace corral::run
