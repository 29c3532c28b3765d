// EventHub: tells open pages which runs and plans changed (server-sent events), without the data.
//
// Ingest notes runs, and schedulers' reports note plans. One thread sends `runs`, `data` and
// `plans` events at most once per `interval`, the first one at once, and a comment line every
// `heartbeat`, which also detects clients that have disconnected. The functions that
// note something and subscribe() may be called from any thread and do not block.
#pragma once

#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <optional>
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

  // If those who read a stream see a run or plan that is there, or what is in an experiment of that
  // name. Called on the hub's thread; may block.
  struct Sees {
    std::function<bool(const RunId& run)> run;
    std::function<bool(const std::string& plan)> plan;
    std::function<bool(const std::string& experiment)> experiment;
  };
  // Without `sees`: of all. nullptr when too many are open.
  std::shared_ptr<PushStream> subscribe(std::optional<Sees> sees = std::nullopt);
  void note(std::span<const RunId> changed_runs, std::span<const RunId> data_runs);
  void note_plan(const std::string& id);
  // Runs that were removed, and a plan that was; with the names of their experiments.
  void note_removed(std::span<const RunId> runs, const std::string& experiment);
  void note_removed_plan(const std::string& id, std::vector<std::string> experiments);
  // Ends every stream. Clients that may still read subscribe again.
  void close_streams();
  [[nodiscard]] std::size_t open_streams() const;

 private:
  struct News {
    std::set<RunId> changed, data;
    std::set<std::string> plans;
    std::map<RunId, std::string> removed;
    std::map<std::string, std::vector<std::string>> removed_plans;
    [[nodiscard]] bool empty() const {
      return changed.empty() && data.empty() && plans.empty() && removed.empty() &&
             removed_plans.empty();
    }
    [[nodiscard]] std::string text() const;  // as events
    [[nodiscard]] News seen_by(const Sees& sees) const;
  };
  struct Stream {
    std::shared_ptr<PushStream> stream;
    std::optional<Sees> sees;
  };
  void run(const std::stop_token& stop);
  void send(const News& news);
  void wake_for_first() REQUIRES(mutex_);

  // Constant after construction.
  const Options options_;

  mutable Mutex mutex_;
  std::condition_variable_any wake_;
  // Guarded by mutex_.
  News news_ GUARDED_BY(mutex_);
  std::vector<Stream> streams_ GUARDED_BY(mutex_);

  std::jthread thread_;  // declared last because it uses the members above
};

}  // namespace corral::server
