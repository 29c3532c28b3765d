#include "collect/tree/short_lived.h"

#include <algorithm>

namespace corral::collect::tree {
namespace {

constexpr int kDeepest = 256;  // processes below one another that all lived for less than a walk

void add_to(ExitRecord& sum, const ExitRecord& more) {
  sum.user_us += more.user_us;
  sum.system_us += more.system_us;
  sum.minor_faults += more.minor_faults;
  sum.major_faults += more.major_faults;
  sum.read_syscall_bytes += more.read_syscall_bytes;
  sum.write_syscall_bytes += more.write_syscall_bytes;
  sum.read_syscalls += more.read_syscalls;
  sum.write_syscalls += more.write_syscalls;
  sum.read_block_bytes += more.read_block_bytes;
  sum.write_block_bytes += more.write_block_bytes;
}

}  // namespace

const ExitRecord* ShortLived::find(pid_t process) const {
  const auto at = std::ranges::lower_bound(records_, process, {}, &ExitRecord::process);
  return at != records_.end() && at->process == process ? &*at : nullptr;
}

// A process of the run is counted elsewhere unless it is lost.
ShortLived::Fate ShortLived::fate_of(const ExitRecord& record, Family& family) const {
  const ExitRecord* top = &record;
  for (int i = 0; i < kDeepest; ++i) {
    if (family.is_known(top->process)) return Fate::kCounted;
    if (family.is_supervisor(top->parent))
      return family.is_helper(top->process) ? Fate::kForeign : Fate::kCounted;
    if (family.is_known(top->parent))
      return family.ignores_children(top->parent) ? Fate::kLost : Fate::kCounted;
    const ExitRecord* above = find(top->parent);
    if (above == nullptr || above == top) return Fate::kForeign;
    top = above;
  }
  return Fate::kForeign;
}

void ShortLived::resolve(Family& family) {
  std::ranges::sort(records_, {}, &ExitRecord::process);
  // Threads of one process come one by one, and belong or do not belong together.
  pid_t last = 0;
  Fate fate = Fate::kForeign;
  for (const ExitRecord& record : records_) {
    if (record.process != last) fate = fate_of(record, family);
    last = record.process;
    if (fate == Fate::kForeign) continue;
    totals_.peak_resident_kib = std::max(totals_.peak_resident_kib, record.peak_resident_kib);
    if (fate == Fate::kLost) add_to(totals_, record);
  }
  records_.clear();
}

}  // namespace corral::collect::tree
