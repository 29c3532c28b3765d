// WatchFeed: refreshes the state that `corral watch` shows, in a thread of its own: a slow server
// never holds up keys. Thread-safe.
#pragma once

#include <atomic>
#include <condition_variable>
#include <memory>
#include <thread>

#include "cli/watch_reader.h"
#include "core/mutex.h"

namespace corral::cli {

class WatchFeed {
 public:
  // Refreshes every `interval`; more slowly when all runs have ended.
  WatchFeed(const sys::HttpTarget& server, const WatchSubject& subject, Nanos interval);
  // Returns within a second, whatever the server does.
  ~WatchFeed();
  WatchFeed(const WatchFeed&) = delete;
  WatchFeed& operator=(const WatchFeed&) = delete;

  // Sets what is in sight; a change is read at once.
  void look_at(const WatchSight& sight) EXCLUDES(mutex_);
  // nullptr: the server has not answered yet.
  [[nodiscard]] std::shared_ptr<const WatchState> state() EXCLUDES(mutex_);
  // This is the newest state, and it shows what is in sight.
  [[nodiscard]] bool is_newest(const WatchState* state) EXCLUDES(mutex_);

 private:
  void loop(const std::stop_token& stop) EXCLUDES(mutex_);

  std::atomic<bool> cancel_ = false;
  WatchReader reader_;  // used by the thread alone
  Nanos interval_;
  Mutex mutex_;
  std::condition_variable_any wake_;
  WatchSight sight_ GUARDED_BY(mutex_);
  WatchSight read_ GUARDED_BY(mutex_);  // the sight of the state
  std::shared_ptr<const WatchState> state_ GUARDED_BY(mutex_);
  std::jthread thread_;
};

}  // namespace corral::cli
