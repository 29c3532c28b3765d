// StallWatch: records incidents that samples show badly as events: stalls for lack of CPU, memory
// or I/O, and limits of the run's control group that were reached.
//
// Flow: the kernel's PSI triggers and counters -> take(), which the supervisor drains into the
// journal. A thread of its own, "corral-pressure", sleeps in poll(). It wakes when a trigger fires,
// and once a second if there are limits to read. One owner's thread calls start(), take() and
// stop().
#pragma once

#include <sys/types.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "collect/cgroup/group.h"
#include "collect/pressure/stall_options.h"
#include "collect/proc_file.h"
#include "collect/series.h"
#include "core/guarded.h"
#include "core/result.h"
#include "core/time.h"
#include "sys/fd.h"

namespace corral::collect {

// EventLimit: limits the reports of an event that keeps happening.
//
// At once, then at most every 10 s, and while it goes on without a calm minute at growing gaps up
// to 10 min, so that a week of pressure is some thousand events and a short one is not missed.
// Events that are not reported are counted into the next one that is. Pure.
class EventLimit {
 public:
  static constexpr Nanos kFirstGap = std::chrono::seconds(10);
  static constexpr Nanos kLongestGap = std::chrono::minutes(10);
  static constexpr Nanos kCalm = std::chrono::minutes(1);

  // It happened so often. Returns the number of events since the last report, if one is due now.
  std::optional<std::uint64_t> note(BootTime now, std::uint64_t times = 1) {
    const bool fresh = !told_ || now - seen_ > kCalm;
    pending_ += times;
    seen_ = now;
    if (told_ && now - *told_ < (fresh ? kFirstGap : gap_)) return std::nullopt;
    gap_ = fresh ? kFirstGap : std::min(2 * gap_, kLongestGap);
    told_ = now;
    return std::exchange(pending_, 0);
  }
  // Returns the number of events that were never reported, and the time of the last, for the end of
  // the run.
  [[nodiscard]] std::uint64_t rest() { return std::exchange(pending_, 0); }
  [[nodiscard]] BootTime seen() const { return seen_; }

 private:
  std::optional<BootTime> told_;
  BootTime seen_{};
  Nanos gap_ = kFirstGap;
  std::uint64_t pending_ = 0;
};

// GroupLimits: how often the run's control group, or one above it, met a limit: its CPU quota, its
// memory's, and processes killed for want of memory.
//
// The kernel counts these; each rise since the last look is reported. One thread; read() allocates
// only when there is something to report.
class GroupLimits {
 public:
  explicit GroupLimits(const cgroup::Finder& finder);

  [[nodiscard]] bool empty() const { return counters_.empty(); }
  [[nodiscard]] std::size_t size() const { return counters_.size(); }
  // Calls `rose(index, name, by)` for each limit that was met; `index` is below size().
  using Rose = std::function<void(std::size_t index, std::string_view name, std::uint64_t by)>;
  void read(const Rose& rose);

 private:
  struct Counter {
    ProcFile file;
    std::string_view key;
    std::string_view name;
    std::uint64_t last = 0;
  };
  void add(const std::filesystem::path& path, std::string_view key, std::string_view name);
  std::vector<Counter> counters_;
};

// PsiTrigger: the kernel's promise to wake a poll() when tasks were stalled for want of a resource
// for so long within a window (Documentation/accounting/psi.rst).
//
// Processes without CAP_SYS_RESOURCE get windows of whole multiples of 2 s (Linux 6.4 and later):
// the window is then widened and the stall with it. The trigger ends with its descriptor.
class PsiTrigger {
 public:
  // `path`: /proc/pressure/memory or a group's memory.pressure. kUnsupported without PSI in the
  // kernel, kPermission when it is refused; the message says what would help.
  static Result<PsiTrigger> open(const std::filesystem::path& path, Nanos stall, Nanos window);

  // Readable by POLLPRI at most once a window; POLLERR: its group is gone.
  [[nodiscard]] int descriptor() const { return fd_.get(); }
  // "some 150 ms in 1 s", as granted.
  [[nodiscard]] std::string threshold() const;
  // Returns for how long some task was stalled since the last call, or since it was opened.
  [[nodiscard]] Nanos stalled();
  void close() { fd_.reset(); }

 private:
  sys::Fd fd_;
  std::optional<ProcFile> totals_;
  std::uint64_t last_us_ = 0;
  Nanos stall_{};
  Nanos window_{};
};

struct StallEvent {
  BootTime time;
  std::string name;                                             // "memory pressure"
  std::vector<std::pair<std::string, std::string>> attributes;  // values are JSON
};

class StallWatch {
 public:
  struct Scope {
    std::filesystem::path root = "/";
    pid_t run_pid = 0;
    bool host = true;
    bool group = true;  // the run's control group, including its limits
  };
  StallWatch(const StallOptions& options, const Scope& scope);
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
  void read_limits();
  void report_rest();
  void report(Stall& stall, BootTime time, std::uint64_t count);
  void report_limit(std::size_t index, BootTime time, std::uint64_t count);
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
