#include "collect/nvidia/calls.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <numeric>
#include <span>
#include <string>
#include <utility>

namespace corral::collect::nvidia {
namespace {

struct Kind {
  std::string_view name;
  bool every_tick = true;  // else once a second anyway
};
constexpr auto kKinds = std::to_array<Kind>({
    {"utilization"},
    {"memory"},
    {"memory_sizes", false},
    {"fields"},
    {"slow_fields", false},
    {"sm_clock"},
    {"memory_clock"},
    {"throttle_reasons"},
    {"power"},
    {"energy"},
    {"temperature", false},
    {"performance_state", false},
    {"encoder", false},
    {"decoder", false},
    {"samples", false},
    {"instance_memory"},
    {"gpm_sample", false},  // as gpm_metrics
    {"gpm_metrics"},
});
static_assert(kKinds.size() == kCallCount);

constexpr std::uint32_t kFewCosts = 8;  // fewer prove nothing

}  // namespace

std::string_view call_name(Call call) { return kKinds[static_cast<std::size_t>(call)].name; }

CallMeter::CallMeter(sys::Clock& clock, std::shared_ptr<News> news, Nanos tick)
    : clock_(&clock), news_(std::move(news)), tick_(tick) {}

void CallMeter::declare(SeriesTable& table) {
  for (std::size_t i = 0; i < kCallCount; ++i) {
    if (!meters_[i].made) continue;
    const std::string source = "nvidia." + std::string(kKinds[i].name);
    meters_[i].longest_column = table.add("corral.collector.call.longest", source);
    meters_[i].mean_column = table.add("corral.collector.call.mean", source);
    meters_[i].p99_column = table.add("corral.collector.call.p99", source);
  }
}

void CallMeter::begin(BootTime now) {
  now_ = now;
  for (std::size_t i = 0; i < kCallCount; ++i) {
    Meter& meter = meters_[i];
    if (kKinds[i].every_tick && meter.tick_calls > 0) choose_period(static_cast<Call>(i), meter);
    meter.tick_cost = Nanos(0);
    meter.tick_calls = 0;
    // A tick may come a little early.
    meter.due = meter.period <= tick_ || now >= meter.next - tick_ / 2;
    if (meter.due) meter.next = now + meter.period;
  }
}

void CallMeter::choose_period(Call call, Meter& meter) {
  meter.recent.at(meter.costs++ % meter.recent.size()) =
      seconds(meter.tick_cost) / meter.tick_calls;
  const std::size_t known = std::min<std::size_t>(meter.costs, meter.recent.size());
  if (known < kFewCosts) return;
  // One call that was interrupted proves nothing.
  const std::span<const double> recent = std::span(meter.recent).first(known);
  const double sum = std::accumulate(recent.begin(), recent.end(), 0.0);
  const double cost_s = (sum - std::ranges::max(recent)) / static_cast<double>(known - 1);
  const double ticks = std::max(std::ceil(cost_s / kShare / seconds(tick_)), 1.0);
  const double most = std::max(seconds(kLongestPause) / seconds(tick_), 1.0);
  const Nanos wanted = tick_ * static_cast<std::int64_t>(std::min(ticks, std::floor(most)));
  // Back only if it is much cheaper than it was.
  if (wanted <= meter.period && wanted * 2 > meter.period) return;
  meter.period = wanted;
  if (wanted <= tick_ || std::exchange(meter.noted, true)) return;
  note(news_, "nvidia",
       "the driver's call for {} would take more than {:.0f} % of a core: it is made less often",
       call_name(call), kShare * 100);
}

void CallMeter::count(Call call, Nanos took) {
  Meter& meter = meters_[static_cast<std::size_t>(call)];
  const auto us = static_cast<std::uint64_t>(std::max<std::int64_t>(took.count(), 0)) / 1000;
  ++meter.histogram[std::min<std::size_t>(std::bit_width(us), meter.histogram.size() - 1)];
  meter.longest = std::max(meter.longest, took);
  meter.sum += took;
  ++meter.calls;
  meter.made = true;
  if (now_ == BootTime{}) return;  // a probe at the open may wake the device up
  const bool of_gpm = call == Call::kGpmSample;
  Meter& charged = of_gpm ? meters_[static_cast<std::size_t>(Call::kGpmMetrics)] : meter;
  charged.tick_cost += took;
  charged.tick_calls += of_gpm ? 0 : 1;
}

Nanos CallMeter::p99(const Histogram& histogram) {
  std::uint64_t calls = 0;
  for (const std::uint32_t count : histogram) calls += count;
  std::uint64_t below = 0;
  std::size_t at = 0;
  while (at + 1 < histogram.size() && (below += histogram[at]) * 100 < calls * 99) ++at;
  return std::chrono::microseconds(std::int64_t{1} << at);
}

void CallMeter::sample(Row& row) {
  for (Meter& meter : meters_) {
    if (meter.calls > 0) {
      row.set(meter.longest_column, seconds(meter.longest));
      row.set(meter.mean_column, seconds(meter.sum) / meter.calls);
      row.set(meter.p99_column, seconds(p99(meter.histogram)));
    }
    meter.longest = Nanos{0};
    meter.sum = Nanos{0};
    meter.calls = 0;
  }
}

bool ends_the_device(Status status) {
  switch (status) {
    case Status::kGpuIsLost:
    case Status::kResetRequired:
    case Status::kUninitialized:
    case Status::kDriverNotLoaded:
      return true;
    default:
      return false;
  }
}

DeviceHealth::DeviceHealth(const Nvml& nvml, std::shared_ptr<News> news, std::string source)
    : nvml_(&nvml), news_(std::move(news)), source_(std::move(source)) {}

bool DeviceHealth::accept(Call call, Status status) {
  if (status == Status::kSuccess) return true;
  if (ends_the_device(status)) {
    if (!std::exchange(lost_, true)) tell("{}; its values end here", nvml_->words(status));
    return false;
  }
  const std::uint32_t bit = 1U << static_cast<unsigned>(call);
  if ((reported_ & bit) == 0) {
    reported_ |= bit;
    tell("no values of {} for now: {}", call_name(call), nvml_->words(status));
  }
  return false;
}

}  // namespace corral::collect::nvidia
