#include "cli/progress_line.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "cli/table.h"
#include "core/text.h"
#include "sys/clock.h"

namespace corral::cli {

std::string progress_text(std::string_view what, std::int64_t done, std::int64_t total,
                          Nanos passed) {
  if (total <= 0) return printable(what) + (done > 0 ? fmt::format(" {}", done) : "");
  const double share = static_cast<double>(std::min(done, total)) / static_cast<double>(total);
  // An early estimate is worth nothing.
  const bool known = share >= 0.02 && share < 1 && passed >= std::chrono::seconds(2);
  const auto left = Nanos(static_cast<std::int64_t>(
      known ? static_cast<double>(passed.count()) * (1 - share) / share : 0));
  const std::string time_left = left < std::chrono::minutes(1)
                                    ? fmt::format("{:.0f} s", seconds(left))
                                    : human_duration(left);
  return fmt::format("{:3.0f} %  {} {} of {}{}", 100 * share, printable(what), done, total,
                     known ? fmt::format(", about {} left", time_left) : "");
}

ProgressLine::ProgressLine()
    : terminal_(::isatty(STDERR_FILENO) != 0), begun_(sys::boot_now()), told_(begun_) {}

ProgressLine::~ProgressLine() { clear(); }

bool ProgressLine::due() {
  constexpr Nanos kPause{std::chrono::milliseconds(100)};
  if (!terminal_) return false;
  const BootTime now = sys::boot_now();
  if (now - begun_ < std::chrono::seconds(1) || now - told_ < kPause) return false;
  told_ = now;
  return true;
}

void ProgressLine::show(const std::string& text) {
  shown_ = true;
  fmt::print(stderr, "\r\x1b[K{}", text);
  std::fflush(stderr);
}

void ProgressLine::tell(std::string_view what, std::int64_t done, std::int64_t total) {
  if (due()) show(progress_text(what, done, total, told_ - begun_));
}

void ProgressLine::tell_bytes(std::string_view what, std::int64_t bytes) {
  if (due()) show(fmt::format("{} {}", what, with_unit(static_cast<double>(bytes), "B")));
}

void ProgressLine::clear() {
  if (shown_) fmt::print(stderr, "\r\x1b[K");
  shown_ = false;
}

}  // namespace corral::cli
