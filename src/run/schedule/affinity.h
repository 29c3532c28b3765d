// Affinity: binds the calling thread, and the processes that it starts, to some CPUs as long as
// this lives.
#pragma once

#include <sched.h>

#include <vector>

namespace corral::run::schedule {

class Affinity {
 public:
  // Without CPUs, or with CPUs that this process may not use, nothing changes.
  explicit Affinity(const std::vector<int>& cpus) {
    if (cpus.empty() || ::sched_getaffinity(0, sizeof before_, &before_) != 0) return;
    cpu_set_t set;
    CPU_ZERO(&set);
    for (const int cpu : cpus)
      if (cpu >= 0 && cpu < CPU_SETSIZE) CPU_SET(static_cast<unsigned>(cpu), &set);
    changed_ = ::sched_setaffinity(0, sizeof set, &set) == 0;
  }
  ~Affinity() {
    if (changed_) ::sched_setaffinity(0, sizeof before_, &before_);
  }
  Affinity(const Affinity&) = delete;
  Affinity& operator=(const Affinity&) = delete;

 private:
  cpu_set_t before_{};
  bool changed_ = false;
};

}  // namespace corral::run::schedule
