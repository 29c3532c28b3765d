#include "collect/sampler/sampler.h"

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "collect/sampler/listeners.h"
#include "sys/clock.h"
#include "sys/thread_guard.h"

namespace corral::collect {
namespace {

constexpr Nanos kShortestInterval = std::chrono::milliseconds(1);
constexpr Nanos kLongestInterval = std::chrono::hours(1);
constexpr std::size_t kThreadNameBytes = 15;

Result<std::vector<const ListenerEntry*>> find_entries(const SamplerOptions& options) {
  std::vector<const ListenerEntry*> entries;
  const auto add = [&](const ListenerEntry* entry) {
    if (std::ranges::find(entries, entry) == entries.end()) entries.push_back(entry);
  };
  for (const std::string& name : options.listeners) add(TRY(require_listener(name)));
  for (const ListenerEntry* entry : options.entries) add(entry);
  return entries;
}

}  // namespace

Sampler::~Sampler() { stop(); }

Result<std::unique_ptr<Sampler>> Sampler::open(SamplerOptions options) {
  if (options.interval < kShortestInterval || options.interval > kLongestInterval) {
    return fail(Code::kInvalidArgument, "the interval must be from 1 ms to 1 h");
  }
  if (options.supervisor_pid == 0) options.supervisor_pid = ::getpid();
  const auto entries = TRY(find_entries(options));
  std::shared_ptr<Ticker> ticker = std::move(options.ticker);
  const Nanos interval = options.interval;
  const bool late = options.open_late;
  const std::string name = "corral-" + (options.lane.empty() ? "sampler" : options.lane);
  std::unique_ptr<Sampler> sampler(
      new Sampler(std::make_shared<Sampling>(std::move(options), entries)));
  sampler->ticker_ = std::move(ticker);
  sampler->interval_ = interval;
  sampler->late_ = late;
  sampler->thread_name_ = name.substr(0, kThreadNameBytes);
  if (!late) sampler->work_->open();
  return sampler;
}

std::span<const SeriesInfo> Sampler::series(int group) const {
  CORRAL_ASSERT(group == kFastGroup || group == kSlowGroup || group == kTimedGroup);
  if (!opened()) return {};
  return work_->table().series(static_cast<Group>(group));
}

std::span<const Unavailable> Sampler::unavailable() const {
  if (!opened()) return {};
  return work_->table().missing();
}

std::span<const Description> Sampler::descriptions() const {
  if (!opened()) return {};
  return work_->table().descriptions();
}

std::span<const metric::Health> Sampler::health() const {
  if (!opened()) return {};
  return work_->health();
}

Result<> Sampler::start() {
  CORRAL_ASSERT(!ended_.valid());
  if (ticker_ == nullptr) ticker_ = TRY(make_timer_ticker(interval_));
  std::promise<void> ended;
  ended_ = ended.get_future();
  thread_ = TRY(sys::start_thread("a sampler", [work = work_, ticker = ticker_, late = late_,
                                                done = std::move(ended)]() mutable {
    sys::guard_call("a sampler", [&] {
      if (late) work->open();
      work->run(*ticker);
    });
    done.set_value();
  }));
  ::pthread_setname_np(thread_.native_handle(), thread_name_.c_str());
  return {};
}

void Sampler::ask_to_stop() {
  if (thread_.joinable()) ticker_->stop();
}

void Sampler::stop() {
  if (!thread_.joinable()) return;
  ticker_->stop();
  thread_.join();
}

bool Sampler::wait_stopped(BootTime deadline) {
  if (!thread_.joinable()) return true;
  ask_to_stop();
  const Nanos left = std::max(deadline - sys::boot_now(), Nanos(0));
  if (ended_.wait_for(left) == std::future_status::ready) {
    thread_.join();
    return true;
  }
  thread_.detach();
  return false;
}

}  // namespace corral::collect
