// EventHub: tells open pages which runs and plans changed (server-sent events), without the data.
//
// Ingest notes runs, and schedulers' reports note plans. One thread sends `runs`, `data` and
// `plans` events at most once per `interval`, the first one at once, and a comment line every
// `heartbeat`, which also detects clients that have disconnected. note(), note_plan() and
// subscribe() may be called from any thread and do not block.
#pragma once

#include <condition_variable>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "core/ids.h"
#include "core/mutex.h"
#include "core/time.h"
#include "server/core/http_types.h"

namespace corral::server {

class EventHub {
 public:
  struct Options {
    Nanos interval = std::chrono::milliseconds(500);
    Nanos heartbeat = std::chrono::seconds(15);
    std::size_t max_streams = 500;
  };
  explicit EventHub(Options options);
  EventHub() : EventHub(Options{}) {}
  EventHub(const EventHub&) = delete;
  EventHub& operator=(const EventHub&) = delete;
  ~EventHub();  // closes every stream

  // nullptr when too many are open.
  std::shared_ptr<PushStream> subscribe();
  void note(std::span<const RunId> changed_runs, std::span<const RunId> data_runs);
  void note_plan(const std::string& id);
  // Ends every stream. Clients that may still read subscribe again.
  void close_streams();
  [[nodiscard]] std::size_t open_streams() const;

 private:
  using Ids = std::set<RunId>;
  void run(const std::stop_token& stop);
  void send(const std::string& text);
  [[nodiscard]] bool has_news() const REQUIRES(mutex_) {
    return !changed_.empty() || !data_.empty() || !plans_.empty();
  }
  void wake_for_first() REQUIRES(mutex_);

  // Constant after construction.
  const Options options_;

  mutable Mutex mutex_;
  std::condition_variable_any wake_;
  // Guarded by mutex_.
  Ids changed_ GUARDED_BY(mutex_);
  Ids data_ GUARDED_BY(mutex_);
  std::set<std::string> plans_ GUARDED_BY(mutex_);
  std::vector<std::shared_ptr<PushStream>> streams_ GUARDED_BY(mutex_);

  std::jthread thread_;  // declared last because it uses the members above
};

}  // namespace corral::server
