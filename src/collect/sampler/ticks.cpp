#include "collect/sampler/ticks.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cmath>
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

constexpr std::uint64_t kFinest = 1024;  // ns: all below is one bucket
constexpr int kSubBits = 3;
constexpr std::uint64_t kSubs = 1u << kSubBits;

std::size_t bucket_index(std::uint64_t ns, std::size_t buckets) {
  if (ns < kFinest) return 0;
  const auto octave = static_cast<std::uint64_t>(std::bit_width(ns / kFinest)) - 1;
  const std::uint64_t sub = (ns >> (std::bit_width(ns) - 1 - kSubBits)) & (kSubs - 1);
  return std::min<std::size_t>(1 + octave * kSubs + sub, buckets - 1);
}

std::int64_t upper_end(std::size_t bucket) {
  if (bucket == 0) return kFinest;
  const std::uint64_t octave = (bucket - 1) / kSubs;
  const std::uint64_t sub = (bucket - 1) % kSubs;
  return static_cast<std::int64_t>((kFinest << octave) / kSubs * (kSubs + sub + 1));
}

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

void Lateness::add(Nanos late) {
  const std::int64_t ns = std::max<std::int64_t>(late.count(), 0);
  buckets_[bucket_index(static_cast<std::uint64_t>(ns), kBuckets)].fetch_add(
      1, std::memory_order_relaxed);
  count_.fetch_add(1, std::memory_order_relaxed);
  if (late > kLate) late_.fetch_add(1, std::memory_order_relaxed);
  greatest_.store(std::max(greatest_.load(std::memory_order_relaxed), ns),
                  std::memory_order_relaxed);
}

void Lateness::merge(const Lateness& other) {
  for (std::size_t i = 0; i < kBuckets; ++i) {
    buckets_[i].fetch_add(other.buckets_[i].load(std::memory_order_relaxed),
                          std::memory_order_relaxed);
  }
  count_.fetch_add(other.count(), std::memory_order_relaxed);
  late_.fetch_add(other.late(), std::memory_order_relaxed);
  greatest_.store(std::max(greatest().count(), other.greatest().count()),
                  std::memory_order_relaxed);
}

Nanos Lateness::quantile(double q) const {
  const auto wanted =
      static_cast<std::uint64_t>(std::ceil(std::clamp(q, 0.0, 1.0) * static_cast<double>(count())));
  std::uint64_t seen = 0;
  for (std::size_t i = 0; i < kBuckets && wanted > 0; ++i) {
    seen += buckets_[i].load(std::memory_order_relaxed);
    if (seen >= wanted && i + 1 < kBuckets) return std::min(Nanos(upper_end(i)), greatest());
  }
  return greatest();
}

}  // namespace corral::collect
