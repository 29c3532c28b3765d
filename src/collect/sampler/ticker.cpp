#include "collect/sampler/ticker.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>

#include <array>
#include <cerrno>
#include <utility>

#include "sys/clock.h"
#include "sys/fd.h"

namespace corral::collect {
namespace {

timespec to_timespec(std::int64_t ns) {
  return {.tv_sec = ns / 1'000'000'000, .tv_nsec = ns % 1'000'000'000};
}

class TimerTicker final : public Ticker {
 public:
  TimerTicker(sys::Fd timer, sys::Fd stop, BootTime first, Nanos interval)
      : timer_(std::move(timer)), stop_(std::move(stop)), next_(first), interval_(interval) {}

  std::uint64_t wait() override {
    std::array<pollfd, 2> fds{{{.fd = timer_.get(), .events = POLLIN, .revents = 0},
                               {.fd = stop_.get(), .events = POLLIN, .revents = 0}}};
    for (;;) {
      const int ready = ::poll(fds.data(), fds.size(), -1);
      if (ready < 0 && errno == EINTR) continue;
      if (ready < 0 || (fds[1].revents & POLLIN) != 0) return 0;
      std::uint64_t passed = 0;
      if (::read(timer_.get(), &passed, sizeof passed) == sizeof passed && passed > 0) {
        due_ = next_;
        next_ += interval_ * static_cast<std::int64_t>(passed);
        return passed;
      }
    }
  }

  [[nodiscard]] BootTime due() const override { return due_; }

  void stop() override {
    const std::uint64_t one = 1;
    // Cannot fail: the eventfd's count is far from its limit.
    [[maybe_unused]] const ssize_t n = ::write(stop_.get(), &one, sizeof one);
  }

 private:
  sys::Fd timer_;
  sys::Fd stop_;
  BootTime next_;
  BootTime due_;
  Nanos interval_;
};

}  // namespace

Result<std::unique_ptr<Ticker>> make_timer_ticker(Nanos interval) {
  sys::Fd timer(::timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK));
  if (!timer) return fail_errno("cannot make the sampler's timer", errno);
  sys::Fd stop(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!stop) return fail_errno("cannot make the sampler's stop event", errno);
  const BootTime first = sys::boot_now() + interval;
  const itimerspec ticks{.it_interval = to_timespec(interval.count()),
                         .it_value = to_timespec(ns_of(first))};
  if (::timerfd_settime(timer.get(), TFD_TIMER_ABSTIME, &ticks, nullptr) != 0) {
    return fail_errno("cannot start the sampler's timer", errno);
  }
  return std::make_unique<TimerTicker>(std::move(timer), std::move(stop), first, interval);
}

}  // namespace corral::collect
