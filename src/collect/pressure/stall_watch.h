// StallWatch: records incidents that samples show badly as events: stalls for lack of CPU, memory
// or I/O, and limits of the run's control group that were reached.
//
// Flow: the kernel's PSI triggers and counters -> take(), which the supervisor drains into the
// journal. A thread of its own, "corral-pressure", sleeps in poll(). It wakes when a trigger fires,
// and once a second if there are limits to read. One owner's thread calls start(), take() and
// stop().
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "collect/pressure/event_limit.h"
#include "collect/pressure/group_limits.h"
#include "collect/pressure/psi_trigger.h"
#include "collect/pressure/stall_options.h"
#include "collect/series.h"
#include "core/guarded.h"
#include "core/result.h"

namespace corral::collect {

struct StallEvent {
  BootTime time;
  std::string name;                                             // "memory pressure"
  std::vector<std::pair<std::string, std::string>> attributes;  // values are JSON
};

class StallWatch {
 public:
  struct Place {
    std::filesystem::path root = "/";
    pid_t run_pid = 0;
    bool host = true;
    bool group = true;  // the run's control group, including its limits
  };
  StallWatch(const StallOptions& options, const Place& place);
  ~StallWatch();
  StallWatch(const StallWatch&) = delete;
  StallWatch& operator=(const StallWatch&) = delete;

  // Returns the events that are unavailable, with the reasons.
  [[nodiscard]] std::span<const Unavailable> unavailable() const { return missing_; }
  // Returns one text per trigger, e.g. "cpu pressure: some 150 ms in 1 s", and one for the limits.
  [[nodiscard]] std::vector<std::string> watched() const;

  // Starts no thread if there is nothing to watch.
  Result<> start();
  // Reports the remaining counts. Does nothing if not started or already stopped.
  void stop();
  // Returns the events since the last call, in the order of time.
  std::vector<StallEvent> take();

 private:
  struct Stall {
    PsiTrigger trigger;
    std::string name;
    EventLimit limit;
  };
  void open(const std::filesystem::path& path, const std::string& name,
            const StallOptions& options);
  void watch(int wake);
  void serve(Stall& stall, short happened);
  void look_at_limits();
  void tell_rest();
  void tell(Stall& stall, BootTime time, std::uint64_t count);
  void tell_limit(std::size_t index, BootTime time, std::uint64_t count);
  void put(StallEvent event);

  // Constant after construction.
  std::vector<Unavailable> missing_;

  // Only the watch's thread between start() and stop(). Names and thresholds do not change, so
  // watched() may read them meanwhile.
  std::vector<Stall> stalls_;
  std::unique_ptr<GroupLimits> limits_;
  std::vector<EventLimit> limit_pace_;  // by index of the limits
  std::vector<std::string_view> limit_name_;

  Guarded<std::vector<StallEvent>> events_;

  // Only the owner's thread.
  sys::Fd wake_;  // an eventfd
  std::jthread thread_;
};

}  // namespace corral::collect
