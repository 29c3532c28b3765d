#include "collect/pressure/stall_watch.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <optional>
#include <span>

#include "collect/proc/parse.h"
#include "collect/scan.h"
#include "core/json.h"
#include "sys/clock.h"
#include "sys/thread_guard.h"

namespace corral::collect {
namespace {

constexpr std::string_view kQuota = "CPU quota reached";
constexpr std::string_view kMemoryMax = "memory limit reached";
constexpr std::string_view kMemoryHigh = "memory limit 'high' reached";
constexpr std::string_view kKilled = "killed: out of memory";

std::optional<std::uint64_t> read_value(ProcFile& file, std::string_view key) {
  const std::array keys{key};
  std::array<std::uint64_t, 1> values{};
  if (find_values(file.read(), keys, values) == 0) return std::nullopt;
  return values[0];
}

// The window that processes without privileges may use.
constexpr Nanos kOpenWindow{std::chrono::seconds(2)};

std::int64_t micros(Nanos time) {
  return std::chrono::duration_cast<std::chrono::microseconds>(time).count();
}

// 0 or errno.
int arm(const sys::Fd& fd, Nanos stall, Nanos window) {
  const std::string wish = fmt::format("some {} {}", micros(stall), micros(window));
  // The kernel wants the text's closing NUL.
  return ::write(fd.get(), wish.c_str(), wish.size() + 1) < 0 ? errno : 0;
}

tl::unexpected<Error> refusal(const std::filesystem::path& path, int error) {
  switch (error) {
    case ENOENT:
    case EOPNOTSUPP:
      return fail(Code::kUnsupported,
                  "this kernel does not record pressure (CONFIG_PSI, boot option psi=1)");
    case EACCES:
    case EPERM:
      return fail(Code::kPermission,
                  path.string() +
                      ": triggers are not permitted: Linux 6.4 or later, or CAP_SYS_RESOURCE, and "
                      "for a group the right to write its files");
    default:
      return fail_errno(path.string(), error);
  }
}

std::string in_words(Nanos time) {
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(time).count();
  return ms % 1000 == 0 ? fmt::format("{} s", ms / 1000) : fmt::format("{} ms", ms);
}

constexpr int kReadMs = 1000;  // for limits, which wake no thread
// Without a consumer, the rest is dropped.
constexpr std::size_t kMostEvents = 1024;
constexpr Nanos kShortestStall{std::chrono::milliseconds(1)};
constexpr Nanos kShortestWindow{std::chrono::milliseconds(500)};
constexpr Nanos kLongestWindow{std::chrono::seconds(10)};

}  // namespace

GroupLimits::GroupLimits(const cgroup::Finder& finder) {
  // A quota may be anywhere above the group; where there is none the count never rises.
  if (const auto chain = finder.find("cpu")) {
    for (const auto& directory : chain->directories)
      add(directory / "cpu.stat", "nr_throttled", kQuota);
  }
  const auto chain = finder.find("memory");
  if (!chain) return;
  if (!chain->unified) {
    add(chain->own() / "memory.oom_control", "oom_kill", kKilled);
    return;
  }
  // Counts the groups below it, too.
  add(chain->own() / "memory.events", "high", kMemoryHigh);
  add(chain->own() / "memory.events", "max", kMemoryMax);
  add(chain->own() / "memory.events", "oom_kill", kKilled);
}

void GroupLimits::add(const std::filesystem::path& path, std::string_view key,
                      std::string_view name) {
  auto file = ProcFile::open(path);
  if (!file) return;
  const auto now = read_value(*file, key);
  if (now) counters_.push_back({.file = *std::move(file), .key = key, .name = name, .last = *now});
}

void GroupLimits::read(const Rose& rose) {
  for (std::size_t i = 0; i < counters_.size(); ++i) {
    Counter& counter = counters_[i];
    const auto now = read_value(counter.file, counter.key);
    if (!now) continue;
    if (*now > counter.last) rose(i, counter.name, *now - counter.last);
    counter.last = *now;
  }
}

Result<PsiTrigger> PsiTrigger::open(const std::filesystem::path& path, Nanos stall, Nanos window) {
  PsiTrigger trigger;
  trigger.fd_ = sys::Fd(::open(path.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC));
  if (!trigger.fd_) return refusal(path, errno);
  int error = arm(trigger.fd_, stall, window);
  if (error == EINVAL && window % kOpenWindow != Nanos(0)) {
    const Nanos wider = (window / kOpenWindow + 1) * kOpenWindow;
    stall = Nanos(static_cast<std::int64_t>(static_cast<double>(stall.count()) *
                                            (seconds(wider) / seconds(window))));
    window = wider;
    error = arm(trigger.fd_, stall, window);
  }
  if (error != 0) return refusal(path, error);
  trigger.stall_ = stall;
  trigger.window_ = window;
  if (auto totals = ProcFile::open(path)) trigger.totals_ = *std::move(totals);
  [[maybe_unused]] const Nanos before = trigger.stalled();
  return trigger;
}

std::string PsiTrigger::threshold() const {
  return fmt::format("some {} in {}", in_words(stall_), in_words(window_));
}

Nanos PsiTrigger::stalled() {
  if (!totals_) return Nanos(0);
  const proc::Pressure now = proc::parse_pressure(totals_->read());
  if (!now.has_some || now.some_us < last_us_) return Nanos(0);
  const auto passed = static_cast<std::int64_t>(now.some_us - last_us_);
  last_us_ = now.some_us;
  return std::chrono::microseconds(passed);
}

Result<> check(const StallOptions& options) {
  for (const std::string& resource : options.resources) {
    if (std::ranges::find(kPressureResources, resource) == kPressureResources.end())
      return fail(Code::kInvalidArgument,
                  fmt::format("resources: unknown '{}': expected cpu, memory, io", resource));
  }
  if (options.window < kShortestWindow || options.window > kLongestWindow)
    return fail(Code::kInvalidArgument, "window: must be from 500 ms to 10 s");
  if (options.stall < kShortestStall || options.stall > options.window)
    return fail(Code::kInvalidArgument, "stall: must be from 1 ms to the window");
  return {};
}

StallWatch::StallWatch(const StallOptions& options, const Scope& scope) {
  const cgroup::Finder finder(scope.root, scope.run_pid);
  const auto group = finder.find("");
  for (const std::string& resource : options.resources) {
    if (scope.host) open(scope.root / "proc/pressure" / resource, resource + " pressure", options);
    if (scope.group && group && group->unified)
      open(group->own() / (resource + ".pressure"), resource + " pressure in the group", options);
  }
  if (!scope.group) return;
  limits_ = std::make_unique<GroupLimits>(finder);
  limit_pace_.resize(limits_->size());
  limit_name_.resize(limits_->size());
}

StallWatch::~StallWatch() { stop(); }

void StallWatch::open(const std::filesystem::path& path, const std::string& name,
                      const StallOptions& options) {
  auto trigger = PsiTrigger::open(path, options.stall, options.window);
  if (trigger) {
    stalls_.push_back({.trigger = *std::move(trigger), .name = name, .limit = {}});
  } else {
    missing_.push_back({.source = "events of " + name, .reason = trigger.error().message});
  }
}

std::vector<std::string> StallWatch::watched() const {
  std::vector<std::string> all;
  for (const Stall& stall : stalls_)
    all.push_back(fmt::format("{}: {}", stall.name, stall.trigger.threshold()));
  if (limits_ != nullptr && !limits_->empty()) all.emplace_back("limits of the group");
  return all;
}

Result<> StallWatch::start() {
  if (watched().empty()) return {};
  wake_ = sys::Fd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!wake_) return fail_errno("eventfd", errno);
  thread_ = TRY(sys::start_thread("the watch of stalls", [this, wake = wake_.get()] {
    sys::guard_call("the watch of stalls", [&] { watch(wake); });
  }));
  ::pthread_setname_np(thread_.native_handle(), "corral-pressure");
  return {};
}

void StallWatch::stop() {
  if (!thread_.joinable()) return;
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t n = ::write(wake_.get(), &one, sizeof one);
  thread_.join();
}

void StallWatch::watch(int wake) {
  const bool reads = limits_ != nullptr && !limits_->empty();
  std::vector<pollfd> waiting;
  do {
    waiting.assign(1, {.fd = wake, .events = POLLIN, .revents = 0});
    for (const Stall& stall : stalls_)
      waiting.push_back({.fd = stall.trigger.descriptor(), .events = POLLPRI, .revents = 0});
    ::poll(waiting.data(), waiting.size(), reads ? kReadMs : -1);
    for (std::size_t i = 0; i < stalls_.size(); ++i) serve(stalls_[i], waiting[i + 1].revents);
    if (reads) read_limits();
  } while ((waiting[0].revents & POLLIN) == 0);
  report_rest();
}

void StallWatch::serve(Stall& stall, short happened) {
  // The group is gone: its descriptor would be ready for ever.
  if ((happened & (POLLERR | POLLNVAL)) != 0) return stall.trigger.close();
  if ((happened & POLLPRI) == 0) return;
  const BootTime now = sys::boot_now();
  if (const auto count = stall.limit.note(now)) report(stall, now, *count);
}

void StallWatch::read_limits() {
  limits_->read([&](std::size_t index, std::string_view name, std::uint64_t by) {
    limit_name_[index] = name;
    const BootTime now = sys::boot_now();
    if (const auto count = limit_pace_[index].note(now, by)) report_limit(index, now, *count);
  });
}

void StallWatch::report_rest() {
  for (Stall& stall : stalls_) {
    if (const std::uint64_t count = stall.limit.rest(); count > 0)
      report(stall, stall.limit.seen(), count);
  }
  for (std::size_t i = 0; i < limit_pace_.size(); ++i) {
    if (const std::uint64_t count = limit_pace_[i].rest(); count > 0)
      report_limit(i, limit_pace_[i].seen(), count);
  }
}

void StallWatch::report(Stall& stall, BootTime time, std::uint64_t count) {
  put({.time = time,
       .name = stall.name,
       .attributes = {{"threshold", Json(stall.trigger.threshold()).dump()},
                      {"count", std::to_string(count)},
                      {"stalled_seconds", Json(seconds(stall.trigger.stalled())).dump()}}});
}

void StallWatch::report_limit(std::size_t index, BootTime time, std::uint64_t count) {
  put({.time = time,
       .name = std::string(limit_name_[index]),
       .attributes = {{"count", std::to_string(count)}}});
}

void StallWatch::put(StallEvent event) {
  events_.with([&](std::vector<StallEvent>& events) {
    if (events.size() < kMostEvents) events.push_back(std::move(event));
  });
}

std::vector<StallEvent> StallWatch::take() {
  auto events = events_.with([](std::vector<StallEvent>& kept) { return std::exchange(kept, {}); });
  std::ranges::stable_sort(events, {}, &StallEvent::time);
  return events;
}

}  // namespace corral::collect
