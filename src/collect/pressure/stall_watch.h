// StallWatch: what happens to a run that no sample shows well: stalls for want of CPU, memory or
// I/O, and limits of its control group that were met, as events.
//
// Flow: the kernel's PSI triggers and counters -> take(), which the supervisor drains into the
// journal. A thread of its own, "corral-pressure", sleeps in poll(): it wakes when the kernel says
// so, and once a second where there are limits to look at. take() and stop() from any one thread.
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
    bool group = true;  // the run's control group, its limits as well
  };
  StallWatch(const StallOptions& options, const Place& place);
  ~StallWatch();
  StallWatch(const StallWatch&) = delete;
  StallWatch& operator=(const StallWatch&) = delete;

  // Returns the resources that are not watched, and why.
  [[nodiscard]] std::span<const Unavailable> unavailable() const { return missing_; }
  // "cpu pressure: some 150 ms in 1 s", one for each trigger; and the limits, if there are any.
  [[nodiscard]] std::vector<std::string> watched() const;

  // Nothing to watch: no thread.
  Result<> start();
  // Reports events that were only counted. Harmless when not started or again.
  void stop();
  // New since the last call, in the order of time.
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

  std::vector<Stall> stalls_;
  std::unique_ptr<GroupLimits> limits_;
  std::vector<EventLimit> limit_pace_;  // by index of the limits
  std::vector<std::string_view> limit_name_;
  std::vector<Unavailable> missing_;
  Guarded<std::vector<StallEvent>> events_;
  sys::Fd wake_;  // eventfd
  std::jthread thread_;
};

}  // namespace corral::collect
