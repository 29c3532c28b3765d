// PsiTrigger: the kernel's promise to wake a poll() when tasks were stalled for want of a resource
// for so long within a window (Documentation/accounting/psi.rst).
//
// Processes without CAP_SYS_RESOURCE get windows of whole multiples of 2 s (Linux 6.4 and later):
// the window is then widened and the stall with it. The trigger ends with its descriptor.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "collect/proc_file.h"
#include "core/result.h"
#include "core/time.h"
#include "sys/fd.h"

namespace corral::collect {

class PsiTrigger {
 public:
  // `path`: /proc/pressure/memory or a group's memory.pressure. kUnsupported without PSI in the
  // kernel, kPermission when it is refused; the message says what would help.
  static Result<PsiTrigger> open(const std::filesystem::path& path, Nanos stall, Nanos window);

  // Readable by POLLPRI at most once a window; POLLERR: its group is gone.
  [[nodiscard]] int descriptor() const { return fd_.get(); }
  // "some 150 ms in 1 s", as granted.
  [[nodiscard]] std::string threshold() const;
  // Returns for how long some task was stalled since the last call, or since it was opened.
  [[nodiscard]] Nanos stalled();
  void close() { fd_.reset(); }

 private:
  sys::Fd fd_;
  std::optional<ProcFile> totals_;
  std::uint64_t last_us_ = 0;
  Nanos stall_{};
  Nanos window_{};
};

}  // namespace corral::collect
