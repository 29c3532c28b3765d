#include "collect/nvidia/calls.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <bit>
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
    {"gpm_sample"},
    {"gpm_metrics"},
});
static_assert(kKinds.size() == kCallCount);

double milliseconds(Nanos d) { return static_cast<double>(d.count()) * 1e-3 * 1e-3; }

}  // namespace

std::string_view call_name(Call call) { return kKinds[static_cast<std::size_t>(call)].name; }

CallMeter::CallMeter(sys::Clock& clock, std::shared_ptr<News> news)
    : clock_(&clock), news_(std::move(news)) {}

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
  for (Meter& meter : meters_) {
    meter.due = !meter.slowed || now >= meter.next;
    if (meter.slowed && meter.due) meter.next = now + kPause;
  }
}

void CallMeter::note(Call call, Nanos took) {
  Meter& meter = meters_[static_cast<std::size_t>(call)];
  const auto us = static_cast<std::uint64_t>(std::max<std::int64_t>(took.count(), 0)) / 1000;
  ++meter.histogram[std::min<std::size_t>(std::bit_width(us), meter.histogram.size() - 1)];
  meter.longest = std::max(meter.longest, took);
  meter.sum += took;
  ++meter.calls;
  meter.made = true;
  check_budget(call, meter, took);
}

void CallMeter::check_budget(Call call, Meter& meter, Nanos took) {
  const bool ticks_began = now_ != BootTime{};  // a probe at the open may wake the device up
  if (meter.slowed || !ticks_began || !kKinds[static_cast<std::size_t>(call)].every_tick) return;
  if (took <= kBudget) {
    if (++meter.in_budget % kPardon == 0 && meter.strikes > 0) --meter.strikes;
    return;
  }
  if (++meter.strikes < kStrikes) return;
  meter.slowed = true;
  meter.next = now_ + kPause;
  tell(
      news_, "nvidia",
      "the driver's call for {} takes {:.1f} ms, more than {:.0f} ms: read once a second from here "
      "on",
      call_name(call), milliseconds(took), milliseconds(kBudget));
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
