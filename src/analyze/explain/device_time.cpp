#include "analyze/explain/device_time.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "analyze/epochs.h"
#include "codec/device_lane.h"

namespace corral::analyze {
namespace {

using codec::PhaseKind;

// The number behind the attribute's name: nothing else of a device's phase is needed, and there may
// be a million of them.
Nanos queued_of(std::string_view attributes) {
  static const std::string key = fmt::format("\"{}\":", codec::kQueuedAttribute);
  const std::size_t at = attributes.find(key);
  std::int64_t ns = 0;
  if (at == std::string_view::npos) return DevicePhase::kNoLaunch;
  const char* begin = attributes.data() + at + key.size();
  const char* end = attributes.data() + attributes.size();
  while (begin != end && *begin == ' ') ++begin;
  return std::from_chars(begin, end, ns).ec == std::errc() ? Nanos(ns) : DevicePhase::kNoLaunch;
}

// Sums the time in which at least one of the added stretches is; they come by begin.
class Covered {
 public:
  void add(UtcTime begin, UtcTime end) {
    begin = std::max(begin, until_);
    if (end < begin) return;
    total_ += end - begin;
    until_ = end;
  }
  [[nodiscard]] Nanos total() const { return total_; }
  [[nodiscard]] UtcTime until() const { return until_; }

 private:
  UtcTime until_ = UtcTime::min();
  Nanos total_{0};
};

// Stretches that touch become one.
std::vector<Window> merge_windows(std::span<const Window> windows) {
  std::vector<Window> merged(windows.begin(), windows.end());
  std::ranges::sort(merged, {}, &Window::from);
  std::size_t count = 0;
  for (const Window& window : merged) {
    if (count > 0 && window.from <= merged[count - 1].to) {
      merged[count - 1].to = std::max(merged[count - 1].to, window.to);
    } else {
      merged[count++] = window;
    }
  }
  merged.resize(count);
  return merged;
}

// Without traces all time is recorded.
bool is_recorded(std::span<const Window> traces, Window gap) {
  if (traces.empty()) return true;
  const auto after = std::ranges::upper_bound(traces, gap.from, {}, &Window::from);
  return after != traces.begin() && gap.to <= std::prev(after)->to;
}

// The part of the idle time that ends with this phase.
Nanos& cause_of(DeviceTime& time, Window gap, const DevicePhase& next) {
  std::int64_t launched = 0;
  if (next.queued == DevicePhase::kNoLaunch ||
      __builtin_sub_overflow(ns_of(next.begin), next.queued.count(), &launched))
    return time.unknown;
  if (utc_time(launched) > gap.from) return time.host_wait;
  return gap.length() < kKernelPause ? time.kernel_wait : time.other;
}

std::string idle_text(const DeviceTime& time) {
  const auto causes = std::to_array<std::pair<Nanos, std::string_view>>(
      {{time.host_wait, "waited for the host's next launch"},
       {time.kernel_wait, "lay between kernels that were waiting"},
       {time.other, "is none of the launches'"},
       {time.unknown, "has launches that the trace lacks"}});
  const auto& [most, words] = *std::ranges::max_element(causes);
  if (most <= Nanos(0)) return "";
  return fmt::format("; {:.1f} % of its idle time {}", seconds(most) / seconds(time.idle()) * 100,
                     words);
}

std::string device_text(const DeviceTime& time) {
  const double all = seconds(time.busy) + seconds(time.idle());
  std::string text =
      fmt::format("{} was busy {:.1f} % of {}", time.device,
                  all > 0 ? seconds(time.busy) / all * 100 : 0.0, precise_duration(all));
  if (time.communication > Nanos(0)) {
    text += fmt::format("; {:.1f} % of its communication overlapped computation",
                        seconds(time.overlap) / seconds(time.communication) * 100);
  }
  return text + idle_text(time) + ".";
}

// `phases` lie in the window, by begin.
DeviceTime sum_device(std::span<const DevicePhase> phases, std::span<const Window> traces) {
  DeviceTime time;
  Covered busy, compute, communication, memory, either;
  for (const DevicePhase& phase : phases) {
    const Window gap{.from = busy.until(), .to = phase.begin};
    if (busy.until() != UtcTime::min() && gap.from < gap.to && is_recorded(traces, gap))
      cause_of(time, gap, phase) += gap.length();
    busy.add(phase.begin, phase.end);
    const bool copies = phase.kind == PhaseKind::kIo, sends = phase.kind == PhaseKind::kComm;
    (copies ? memory : sends ? communication : compute).add(phase.begin, phase.end);
    if (!copies) either.add(phase.begin, phase.end);
  }
  time.window = {.from = phases.front().begin, .to = std::max(phases.front().begin, busy.until())};
  time.phases = static_cast<std::int64_t>(phases.size());
  time.busy = busy.total();
  time.compute = compute.total();
  time.communication = communication.total();
  time.memory = memory.total();
  time.overlap = time.compute + time.communication - either.total();
  return time;
}

// The traces of the device's own process, host and rank.
std::vector<Window> traces_of(const DeviceRecord& record, std::string_view device) {
  const auto own = record.traces().find(device.substr(0, device.rfind('/') + 1));
  return own == record.traces().end() ? std::vector<Window>() : merge_windows(own->second);
}

}  // namespace

void DeviceRecord::add(const Fields& fields) {
  if (!fields.end) return;
  if (fields.name == codec::kTracePhase && fields.lane.ends_with(codec::kTraceLane)) {
    const auto front = fields.lane.substr(0, fields.lane.size() - codec::kTraceLane.size());
    traces_[std::string(front)].push_back({.from = fields.begin, .to = *fields.end});
    return;
  }
  const std::string_view name = codec::device_of_lane(fields.lane);
  if (name.empty()) return;
  auto device = devices_.find(name);
  if (device == devices_.end()) device = devices_.emplace(name, Device()).first;
  device->second.phases.push_back({.begin = fields.begin,
                                   .end = *fields.end,
                                   .queued = queued_of(fields.attributes),
                                   .kind = fields.kind});
  auto& streams = device->second.streams;
  if (!streams.contains(fields.lane)) streams.emplace(fields.lane);
}

std::vector<DeviceIdle> find_device_idle(const DeviceRecord& record,
                                         std::span<const Window> stretches) {
  std::vector<DeviceIdle> all;
  for (const auto& [name, device] : record.devices()) {
    const std::vector<Window> traces = traces_of(record, name);
    if (traces.empty()) continue;
    std::vector<Window> phases;
    for (const DevicePhase& phase : device.phases)
      phases.push_back({.from = phase.begin, .to = phase.end});
    const std::vector<Window> busy = merge_windows(phases);
    DeviceIdle idle{.device = name};
    auto next = busy.begin();
    for (const Window& stretch : stretches) {
      if (!is_recorded(traces, stretch)) continue;
      ++idle.stretches;
      const double length = seconds(stretch.length());
      idle.seconds += length;
      idle.idle_s += length;
      while (next != busy.end() && next->to <= stretch.from) ++next;
      for (auto one = next; one != busy.end() && one->from < stretch.to; ++one)
        idle.idle_s -= seconds(std::min(one->to, stretch.to) - std::max(one->from, stretch.from));
    }
    if (idle.stretches > 0) all.push_back(std::move(idle));
  }
  return all;
}

std::vector<DeviceTime> find_device_time(const DeviceRecord& record, Window window) {
  std::vector<DeviceTime> times;
  for (const auto& [name, device] : record.devices()) {
    std::vector<DevicePhase> phases;
    for (DevicePhase phase : device.phases) {
      if (phase.end <= window.from || phase.begin >= window.to) continue;
      phase.begin = std::max(phase.begin, window.from);  // no gap before it is in the window
      phase.end = std::min(phase.end, window.to);
      phases.push_back(phase);
    }
    if (phases.empty()) continue;
    std::ranges::sort(phases, {}, &DevicePhase::begin);
    const std::vector<Window> traces = traces_of(record, name);
    DeviceTime time = sum_device(phases, traces);
    time.device = name;
    time.rank = lane_rank(name);
    time.streams = static_cast<std::int64_t>(device.streams.size());
    time.text = device_text(time);
    times.push_back(std::move(time));
  }
  return times;
}

}  // namespace corral::analyze
