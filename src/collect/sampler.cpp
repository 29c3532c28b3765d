#include "collect/sampler.h"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "core/text.h"
#include "sys/clock.h"

namespace corral::collect {
namespace {

constexpr Nanos kShortestInterval = std::chrono::milliseconds(1);
constexpr Nanos kLongestInterval = std::chrono::hours(1);
constexpr std::size_t kRingBytes = 4u << 20;

std::size_t ring_rows(std::size_t wanted, std::size_t columns) {
  const std::size_t row_bytes = std::max<std::size_t>(columns, 1) * (sizeof(double) + 1);
  return std::clamp<std::size_t>(wanted, 2, std::max<std::size_t>(kRingBytes / row_bytes, 16));
}

}  // namespace

Sampler::Sampler(SamplerOptions options) : options_(std::move(options)) {}
Sampler::~Sampler() { stop(); }

Result<std::unique_ptr<Sampler>> Sampler::open(SamplerOptions options) {
  if (options.interval < kShortestInterval || options.interval > kLongestInterval) {
    return fail(Code::kInvalidArgument, "the interval must lie between 1 ms and 1 h");
  }
  if (options.supervisor_pid == 0) options.supervisor_pid = ::getpid();
  std::unique_ptr<Sampler> sampler(new Sampler(std::move(options)));
  TRY(sampler->open_listeners());
  return sampler;
}

Result<> Sampler::open_listeners() {
  std::vector<SelfSeries::Name> names;
  for (const std::string& name : options_.listeners) {
    const ListenerEntry* entry = TRY(require_listener(name));
    if (std::ranges::find(sources_, entry, &Source::entry) != sources_.end()) continue;
    const std::size_t slow_before = series(kSlowGroup).size();
    const ListenerContext context{.root = options_.root,
                                  .run_pid = options_.run_pid,
                                  .supervisor_pid = options_.supervisor_pid,
                                  .perf = &options_.perf};
    std::unique_ptr<Listener> listener = entry->open(context, table_);
    const bool slow = series(kSlowGroup).size() > slow_before;
    sources_.push_back({.entry = entry, .listener = std::move(listener), .slow = slow});
    names.push_back({.name = entry->name, .slow = slow});
  }
  self_.emplace(names, table_);
  const std::size_t columns = std::max(series(kFastGroup).size(), series(kSlowGroup).size());
  ring_ = std::make_unique<RowRing>(ring_rows(options_.ring_rows, columns), columns);
  return {};
}

std::span<const SeriesInfo> Sampler::series(int group) const {
  CORRAL_ASSERT(group == kFastGroup || group == kSlowGroup);
  return table_.series(static_cast<Group>(group));
}

Result<> Sampler::start() {
  CORRAL_ASSERT(ticker_ == nullptr);
  ticker_ =
      options_.ticker ? std::move(options_.ticker) : TRY(make_timer_ticker(options_.interval));
  // Signals are for the supervisor's other threads.
  sigset_t all;
  sigset_t before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  thread_ = std::thread([this] { run(); });
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  ::pthread_setname_np(thread_.native_handle(), "corral-sampler");
  return {};
}

void Sampler::stop() {
  if (!thread_.joinable()) return;
  ticker_->stop();
  thread_.join();
}

void Sampler::run() {
  const std::uint64_t slow_every = std::max<std::uint64_t>(
      1, static_cast<std::uint64_t>(options_.slow_interval / options_.interval));
  std::uint64_t now = 0;  // ticks since start, missed ones included
  std::uint64_t next_slow = 0;
  for (std::uint64_t passed = 1; passed > 0; passed = ticker_->wait()) {
    now += passed;
    missed_.fetch_add(passed - 1, std::memory_order_relaxed);
    sample(kFastGroup);
    if (now > next_slow) {
      sample(kSlowGroup);
      next_slow = (now - 1) / slow_every * slow_every + slow_every;
    }
    ticks_.fetch_add(1, std::memory_order_relaxed);
  }
  sample(kFastGroup);
  sample(kSlowGroup);
}

void Sampler::sample(Group group) {
  RowRing::Slot slot;
  if (!ring_->begin(series(group).size(), slot)) {
    dropped_.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  Row row(slot.values, slot.present);
  const bool workload = workload_sampling_.load(std::memory_order_relaxed);
  BootTime before = sys::boot_now();
  for (std::size_t i = 0; i < sources_.size(); ++i) {
    const Source& source = sources_[i];
    if (!source.listener || (source.entry->owner == metric::Owner::kWorkload && !workload))
      continue;
    if (group == kFastGroup) source.listener->sample_fast(row);
    if (group == kSlowGroup && source.slow) source.listener->sample_slow(row);
    const BootTime after = sys::boot_now();
    self_->sample_latency(group, i, after - before, row);
    before = after;
  }
  if (group == kSlowGroup) {
    self_->sample_slow({.missed_ticks = missed_ticks(),
                        .dropped_rows = dropped_rows(),
                        .bytes_written = bytes_written_.load(std::memory_order_relaxed)},
                       row);
  }
  ring_->commit(group, before);
}

}  // namespace corral::collect
