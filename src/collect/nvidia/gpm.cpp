#include "collect/nvidia/gpm.h"

#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <string>

namespace corral::collect::nvidia {
namespace {

constexpr double kPercent = 0.01;
constexpr double kMib = 1024.0 * 1024.0;

constexpr auto kColumns = std::to_array<GpmColumn>({
    {1, "host.gpu.graphics.active", kPercent},
    {2, "host.gpu.sm.active", kPercent},
    {3, "host.gpu.sm.occupancy", kPercent},
    {4, "host.gpu.pipe.integer", kPercent},
    {5, "host.gpu.pipe.tensor", kPercent},
    {7, "host.gpu.pipe.tensor_fp16", kPercent},
    {8, "host.gpu.pipe.tensor_fp64", kPercent, 6},  // as DMMA from NVML 13.2 on, as DFMA before
    {9, "host.gpu.pipe.tensor_int8", kPercent},
    {11, "host.gpu.pipe.fp64", kPercent},
    {12, "host.gpu.pipe.fp32", kPercent},
    {13, "host.gpu.pipe.fp16", kPercent},
    {10, "host.gpu.dram.active", kPercent},
    {20, "host.gpu.pcie.tx_rate", kMib},
    {21, "host.gpu.pcie.rx_rate", kMib},
    {61, "host.gpu.nvlink.tx_rate", kMib},
    {60, "host.gpu.nvlink.rx_rate", kMib},
});
constexpr auto kInstanceColumns = std::to_array<GpmColumn>({
    {1, "host.gpu.mig.graphics.active", kPercent},
    {2, "host.gpu.mig.sm.active", kPercent},
    {3, "host.gpu.mig.sm.occupancy", kPercent},
    {4, "host.gpu.mig.pipe.integer", kPercent},
    {5, "host.gpu.mig.pipe.tensor", kPercent},
    {11, "host.gpu.mig.pipe.fp64", kPercent},
    {12, "host.gpu.mig.pipe.fp32", kPercent},
    {13, "host.gpu.mig.pipe.fp16", kPercent},
    {10, "host.gpu.mig.dram.active", kPercent},
});
static_assert(kColumns.size() <= 64 && kColumns.size() <= kGpmRoom);

std::string all_of(const GpmMeter::Target& target, const std::string& source) {
  return (target.gpu_instance ? "host.gpu.mig.sm.active and the like of "
                              : "host.gpu.sm.active and the like of ") +
         source;
}

}  // namespace

std::span<const GpmColumn> gpm_columns() { return kColumns; }
std::span<const GpmColumn> gpm_instance_columns() { return kInstanceColumns; }

GpmMeter::GpmMeter(const Nvml& nvml, const Target& target)
    : nvml_(&nvml), target_(target), request_(std::make_unique<GpmRequest>()) {}

GpmMeter::~GpmMeter() {
  for (const Kept& kept : kept_) {
    if (kept.sample != nullptr) nvml_->call().gpm_free(kept.sample);
  }
}

std::unique_ptr<GpmMeter> GpmMeter::open(const Nvml& nvml, const Target& target,
                                         const DeviceHealth& health, SeriesTable& table) {
  GpmSupport support{.version = kGpmSupportVersion, .supported = 0};
  Status status = nvml.call().gpm_support(target.device, &support);
  if (status == Status::kSuccess && support.supported == 0) status = Status::kNotSupported;
  std::unique_ptr<GpmMeter> meter(new GpmMeter(nvml, target));
  if (status == Status::kSuccess) status = meter->allocate();
  if (status != Status::kSuccess) {
    table.unavailable(all_of(target, health.source()),
                      "GPM, the driver's performance monitors of Hopper and later: " +
                          std::string(nvml.words(status)));
    return nullptr;
  }
  for (const GpmColumn& column : target.columns) {
    meter->columns_.push_back(table.add(column.metric, health.source()));
    meter->ids_.push_back(column.id);
  }
  return meter;
}

Status GpmMeter::allocate() {
  if (!nvml_->call().gpm_free.there()) return Status::kFunctionNotFound;
  for (Kept& kept : kept_) {
    const Status status = nvml_->call().gpm_allocate(&kept.sample);
    if (status != Status::kSuccess) return status;
  }
  return Status::kSuccess;
}

void GpmMeter::sample(CallMeter& meter, DeviceHealth& health, Row& row) {
  if (!meter.due(Call::kGpmSample) || !meter.due(Call::kGpmMetrics)) return;
  if (!take_sample(meter, health)) return;
  const Kept* start = window_start();
  if (start == nullptr) return;
  request_->version = kGpmRequestVersion;
  request_->count = static_cast<std::uint32_t>(columns_.size());
  request_->earlier = start->sample;
  request_->later = kept_[newest_].sample;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    request_->metrics[i] = {
        .id = ids_[i], .status = Status::kSuccess, .value = std::nan(""), .names = {}};
  }
  const Status status =
      meter.measure(Call::kGpmMetrics, [&] { return nvml_->call().gpm_metrics(request_.get()); });
  if (health.accept(Call::kGpmMetrics, status)) fill(health, row);
}

bool GpmMeter::take_sample(CallMeter& meter, DeviceHealth& health) {
  const Kept& newest = kept_[newest_];
  if (newest.filled && meter.now() - newest.time > kLongestWindow) forget();
  if (newest.filled && meter.now() - newest.time < kSampleSpacing) return false;
  const std::size_t next = (newest_ + 1) % kKept;
  const Status status = meter.measure(Call::kGpmSample, [&] {
    return target_.gpu_instance ? nvml_->call().gpm_mig_sample(
                                      target_.device, *target_.gpu_instance, kept_[next].sample)
                                : nvml_->call().gpm_sample(target_.device, kept_[next].sample);
  });
  if (!health.accept(Call::kGpmSample, status)) {
    forget();  // an instance that was made anew must not be compared with the old one
    return false;
  }
  kept_[next].time = meter.now();
  kept_[next].filled = true;
  newest_ = next;
  return true;
}

const GpmMeter::Kept* GpmMeter::window_start() const {
  const BootTime end = kept_[newest_].time;
  const Kept* best = nullptr;
  for (const Kept& kept : kept_) {
    if (!kept.filled || end - kept.time < kShortestWindow) continue;
    if (best == nullptr || kept.time > best->time) best = &kept;
  }
  return best;
}

void GpmMeter::fill(DeviceHealth& health, Row& row) {
  std::uint64_t refused = 0;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    const GpmMetric& metric = request_->metrics[i];
    const std::uint32_t older = target_.columns[i].older_id;
    if (metric.status != Status::kSuccess && older != 0 && ids_[i] != older) {
      ids_[i] = older;
    } else if (metric.status != Status::kSuccess) {
      refused |= std::uint64_t{1} << i;
    } else if (!std::isnan(metric.value)) {
      row.set(columns_[i], metric.value * target_.columns[i].scale);
    }
  }
  tell_refused(refused & ~told_, health);
  told_ |= refused;
}

// All that one window lacks in one text.
void GpmMeter::tell_refused(std::uint64_t columns, const DeviceHealth& health) const {
  if (columns == 0) return;
  const auto first = static_cast<std::size_t>(std::countr_zero(columns));
  std::array<char, 240> text{};
  char* end = fmt::format_to_n(text.data(), text.size(), "{}; no values of",
                               nvml_->words(request_->metrics[first].status))
                  .out;
  for (std::size_t i = first; i < columns_.size(); ++i) {
    if ((columns >> i & 1U) == 0) continue;
    end = fmt::format_to_n(end, static_cast<std::size_t>(text.data() + text.size() - end), "{} {}",
                           i == first ? "" : ",", target_.columns[i].metric)
              .out;
  }
  health.tell({text.data(), static_cast<std::size_t>(end - text.data())});
}

void GpmMeter::forget() {
  for (Kept& kept : kept_) kept.filled = false;
}

}  // namespace corral::collect::nvidia
