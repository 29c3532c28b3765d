#include "collect/pressure/stall_watch.h"

#include <fmt/core.h>
#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "core/json.h"
#include "sys/clock.h"
#include "sys/thread_guard.h"

namespace corral::collect {
namespace {

constexpr int kLookMs = 1000;  // for limits, which wake no thread
// Without a consumer, the rest is dropped.
constexpr std::size_t kMostEvents = 1024;
constexpr Nanos kShortestStall{std::chrono::milliseconds(1)};
constexpr Nanos kShortestWindow{std::chrono::milliseconds(500)};
constexpr Nanos kLongestWindow{std::chrono::seconds(10)};

}  // namespace

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

StallWatch::StallWatch(const StallOptions& options, const Place& place) {
  const cgroup::Finder finder(place.root, place.run_pid);
  const auto group = finder.find("");
  for (const std::string& resource : options.resources) {
    if (place.host) open(place.root / "proc/pressure" / resource, resource + " pressure", options);
    if (place.group && group && group->unified)
      open(group->own() / (resource + ".pressure"), resource + " pressure in the group", options);
  }
  if (!place.group) return;
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
  const bool looks = limits_ != nullptr && !limits_->empty();
  std::vector<pollfd> waiting;
  do {
    waiting.assign(1, {.fd = wake, .events = POLLIN, .revents = 0});
    for (const Stall& stall : stalls_)
      waiting.push_back({.fd = stall.trigger.descriptor(), .events = POLLPRI, .revents = 0});
    ::poll(waiting.data(), waiting.size(), looks ? kLookMs : -1);
    for (std::size_t i = 0; i < stalls_.size(); ++i) serve(stalls_[i], waiting[i + 1].revents);
    if (looks) look_at_limits();
  } while ((waiting[0].revents & POLLIN) == 0);
  tell_rest();
}

void StallWatch::serve(Stall& stall, short happened) {
  // The group is gone: its descriptor would be ready for ever.
  if ((happened & (POLLERR | POLLNVAL)) != 0) return stall.trigger.close();
  if ((happened & POLLPRI) == 0) return;
  const BootTime now = sys::boot_now();
  if (const auto count = stall.limit.note(now)) tell(stall, now, *count);
}

void StallWatch::look_at_limits() {
  limits_->look([&](std::size_t index, std::string_view name, std::uint64_t by) {
    limit_name_[index] = name;
    const BootTime now = sys::boot_now();
    if (const auto count = limit_pace_[index].note(now, by)) tell_limit(index, now, *count);
  });
}

void StallWatch::tell_rest() {
  for (Stall& stall : stalls_) {
    if (const std::uint64_t count = stall.limit.rest(); count > 0)
      tell(stall, stall.limit.seen(), count);
  }
  for (std::size_t i = 0; i < limit_pace_.size(); ++i) {
    if (const std::uint64_t count = limit_pace_[i].rest(); count > 0)
      tell_limit(i, limit_pace_[i].seen(), count);
  }
}

void StallWatch::tell(Stall& stall, BootTime time, std::uint64_t count) {
  put({.time = time,
       .name = stall.name,
       .attributes = {{"threshold", Json(stall.trigger.threshold()).dump()},
                      {"count", std::to_string(count)},
                      {"stalled_seconds", Json(seconds(stall.trigger.stalled())).dump()}}});
}

void StallWatch::tell_limit(std::size_t index, BootTime time, std::uint64_t count) {
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
