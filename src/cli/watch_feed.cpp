#include "cli/watch_feed.h"

#include <algorithm>

#include "sys/thread_guard.h"

namespace corral::cli {
namespace {

// An ended run changes no more, unless people remove it.
constexpr Nanos kEndedInterval = std::chrono::seconds(5);

}  // namespace

WatchFeed::WatchFeed(const sys::HttpTarget& server, const WatchSubject& subject, Nanos interval)
    : reader_(server, subject, cancel_),
      interval_(interval),
      thread_(sys::require_thread("corral watch", [this](const std::stop_token& stop) {
        sys::guard_loop("corral watch", stop, [&] { loop(stop); });
      })) {}

WatchFeed::~WatchFeed() { cancel_ = true; }

void WatchFeed::look_at(const WatchSight& sight) {
  const Lock lock(mutex_);
  if (sight == sight_) return;
  sight_ = sight;
  wake_.notify_one();
}

std::shared_ptr<const WatchState> WatchFeed::state() {
  const Lock lock(mutex_);
  return state_;
}

bool WatchFeed::is_newest(const WatchState* state) {
  const Lock lock(mutex_);
  return state != nullptr && state == state_.get() && read_ == sight_;
}

void WatchFeed::loop(const std::stop_token& stop) {
  Lock lock(mutex_);
  while (!stop.stop_requested()) {
    const WatchSight sight = sight_;
    lock.unlock();
    auto state = std::make_shared<const WatchState>(reader_.refresh(sight));
    lock.lock();
    state_ = std::move(state);
    read_ = sight;
    const Nanos pause = state_->over() ? std::max(interval_, kEndedInterval) : interval_;
    wake_.wait_for(lock, stop, pause, [&]() REQUIRES(mutex_) { return sight_ != sight; });
  }
}

}  // namespace corral::cli
