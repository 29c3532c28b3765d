#include "analyze/explain/part_use.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "analyze/explain/attribute_metric.h"
#include "analyze/explain/change_points.h"
#include "analyze/explain/run_data.h"
#include "analyze/footprint/energy.h"
#include "core/text.h"
#include "core/time.h"

namespace corral::analyze {
namespace {

// Stretches that touch are one.
std::vector<Window> stretches_of_lane(const Timeline& timeline, std::size_t lane, Window window,
                                      BoundPart part) {
  std::vector<Window> found;
  PartsOfPhases parts(timeline);
  const auto add = [&](UtcTime begin, UtcTime end, const TimelinePhase* phase) {
    if (parts.of(phase) != part) return;
    if (!found.empty() && found.back().to == begin) {
      found.back().to = end;
    } else {
      found.push_back({.from = begin, .to = end});
    }
  };
  walk_leaves(timeline.phases(lane), window, add);
  return found;
}

std::vector<Window> both(std::span<const Window> left, std::span<const Window> right) {
  std::vector<Window> common;
  for (std::size_t i = 0, k = 0; i < left.size() && k < right.size();) {
    const Window window{.from = std::max(left[i].from, right[k].from),
                        .to = std::min(left[i].to, right[k].to)};
    if (window.from < window.to) common.push_back(window);
    left[i].to < right[k].to ? ++i : ++k;
  }
  return common;
}

double usual_length(std::vector<double> lengths) { return quantile_of(std::move(lengths), 0.5); }

bool lies_in(std::span<const Window> stretches, const UseSample& sample) {
  const auto after = std::ranges::upper_bound(stretches, sample.begin, {}, &Window::from);
  return after != stretches.begin() && sample.end <= std::prev(after)->to;
}

}  // namespace

BoundPart part_of(std::string_view type, codec::PhaseKind kind) {
  for (const std::string_view name : split(type, '/'))
    if (name == "evaluation") return BoundPart::kEvaluation;
  switch (kind) {
    case codec::PhaseKind::kWait:
      return BoundPart::kWait;
    case codec::PhaseKind::kComm:
      return BoundPart::kRanks;
    case codec::PhaseKind::kIo:
      return BoundPart::kIo;
    case codec::PhaseKind::kCompute:
    case codec::PhaseKind::kControl:
      break;
  }
  return BoundPart::kWork;
}

BoundPart PartsOfPhases::of(const TimelinePhase* phase) {
  if (phase == nullptr) return BoundPart::kWork;
  const auto [known, fresh] = known_.try_emplace({phase->type, phase->kind});
  if (fresh) known->second = part_of(timeline_.text(phase->type), phase->kind);
  return known->second;
}

std::vector<Window> find_stretches(const Timeline& timeline, std::span<const std::size_t> lanes,
                                   Window window, BoundPart part) {
  std::optional<std::vector<Window>> all;
  for (const std::size_t lane : lanes) {
    std::vector<Window> own = stretches_of_lane(timeline, lane, window, part);
    all = all ? both(*all, own) : std::move(own);
  }
  return std::move(all).value_or(std::vector<Window>());
}

PartUse measure_use(std::span<const Window> stretches, std::span<const UseSample> samples) {
  PartUse use;
  std::vector<double> lengths, every;
  for (const Window& stretch : stretches) lengths.push_back(window_seconds(stretch));
  double sum = 0, idle = 0;
  for (const UseSample& sample : samples) {
    if (!std::isfinite(sample.value) || sample.begin >= sample.end) continue;
    every.push_back(window_seconds({.from = sample.begin, .to = sample.end}));
    if (!lies_in(stretches, sample)) continue;
    ++use.samples;
    sum += sample.value;
    if (sample.value < kIdleUse) ++idle;
  }
  if (lengths.empty() || every.empty()) {
    use.reason = lengths.empty() ? "the ranks are never in it together" : "it has no samples";
    return use;
  }
  const double interval = usual_length(std::move(every)), usual = usual_length(std::move(lengths));
  if (2 * interval > usual || use.samples < RunData::kLeastPoints) {
    use.reason = fmt::format("it was sampled every {}, too seldom for phases of {}",
                             precise_duration(interval), precise_duration(usual));
    return use;
  }
  use.mean = sum / static_cast<double>(use.samples);
  use.idle = idle / static_cast<double>(use.samples);
  return use;
}

std::vector<PartUse> trace_use(const DeviceRecord& record, std::span<const Window> stretches) {
  std::vector<PartUse> uses;
  for (DeviceIdle& device : find_device_idle(record, stretches)) {
    if (device.stretches < RunData::kLeastPoints || device.seconds <= 0) continue;
    const double idle = std::clamp(device.idle_s / device.seconds, 0.0, 1.0);
    uses.push_back({.metric = "",
                    .source = std::move(device.device),
                    .mean = 1 - idle,
                    .idle = idle,
                    .samples = device.stretches,
                    .reason = {}});
  }
  return uses;
}

Result<std::vector<PartUse>> read_part_use(const store::Reader& store, const store::Run& run,
                                           std::span<const Window> stretches,
                                           const PartUseReading& reading) {
  const std::span<const std::string_view> metrics = reading.metrics;
  std::vector<PartUse> uses;
  if (stretches.empty() || metrics.empty()) return uses;
  const Window window{.from = stretches.front().from, .to = stretches.back().to};
  for (const store::Series& series : TRY(store.series_of(run.id))) {
    const bool elsewhere = series.owner == metric::Owner::kHost && series.host != run.host;
    if (elsewhere || std::ranges::find(metrics, series.name) == metrics.end()) continue;
    auto samples = read_use_samples(store, series, window, reading.left);
    if (!samples && samples.error().code != Code::kTooLarge) return tl::unexpected(samples.error());
    PartUse use;
    if (samples) {
      use = measure_use(stretches, *samples);
    } else {
      use.reason = "it has too many points";
    }
    use.metric = series.name;
    use.source = series.source;
    uses.push_back(std::move(use));
  }
  return uses;
}

}  // namespace corral::analyze
