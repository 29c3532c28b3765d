#include "collect/pressure/psi_trigger.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <cerrno>

#include "collect/proc/parse.h"

namespace corral::collect {
namespace {

// The window that processes without privileges may use.
constexpr Nanos kOpenWindow{std::chrono::seconds(2)};

std::int64_t micros(Nanos time) {
  return std::chrono::duration_cast<std::chrono::microseconds>(time).count();
}

// 0 or errno.
int arm(const sys::Fd& fd, Nanos stall, Nanos window) {
  const std::string wish = fmt::format("some {} {}", micros(stall), micros(window));
  // The kernel wants the text's closing NUL.
  return ::write(fd.get(), wish.c_str(), wish.size() + 1) < 0 ? errno : 0;
}

tl::unexpected<Error> refusal(const std::filesystem::path& path, int error) {
  switch (error) {
    case ENOENT:
    case EOPNOTSUPP:
      return fail(Code::kUnsupported,
                  "this kernel does not record pressure (CONFIG_PSI, boot option psi=1)");
    case EACCES:
    case EPERM:
      return fail(Code::kPermission,
                  path.string() +
                      ": triggers are not permitted: Linux 6.4 or later, or CAP_SYS_RESOURCE, and "
                      "for a group the right to write its files");
    default:
      return fail_errno(path.string(), error);
  }
}

std::string in_words(Nanos time) {
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(time).count();
  return ms % 1000 == 0 ? fmt::format("{} s", ms / 1000) : fmt::format("{} ms", ms);
}

}  // namespace

Result<PsiTrigger> PsiTrigger::open(const std::filesystem::path& path, Nanos stall, Nanos window) {
  PsiTrigger trigger;
  trigger.fd_ = sys::Fd(::open(path.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC));
  if (!trigger.fd_) return refusal(path, errno);
  int error = arm(trigger.fd_, stall, window);
  if (error == EINVAL && window % kOpenWindow != Nanos(0)) {
    const Nanos wider = (window / kOpenWindow + 1) * kOpenWindow;
    stall = Nanos(static_cast<std::int64_t>(static_cast<double>(stall.count()) *
                                            (seconds(wider) / seconds(window))));
    window = wider;
    error = arm(trigger.fd_, stall, window);
  }
  if (error != 0) return refusal(path, error);
  trigger.stall_ = stall;
  trigger.window_ = window;
  if (auto totals = ProcFile::open(path)) trigger.totals_ = *std::move(totals);
  [[maybe_unused]] const Nanos before = trigger.stalled();
  return trigger;
}

std::string PsiTrigger::threshold() const {
  return fmt::format("some {} in {}", in_words(stall_), in_words(window_));
}

Nanos PsiTrigger::stalled() {
  if (!totals_) return Nanos(0);
  const proc::Pressure now = proc::parse_pressure(totals_->read());
  if (!now.has_some || now.some_us < last_us_) return Nanos(0);
  const auto passed = static_cast<std::int64_t>(now.some_us - last_us_);
  last_us_ = now.some_us;
  return std::chrono::microseconds(passed);
}

}  // namespace corral::collect
