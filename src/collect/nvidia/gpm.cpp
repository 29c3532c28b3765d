#include "collect/nvidia/gpm.h"

#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <string>
#include <utility>

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

}  // namespace

std::span<const GpmColumn> gpm_columns() { return kColumns; }
std::span<const GpmColumn> gpm_instance_columns() { return kInstanceColumns; }

GpmMeter::GpmMeter(const Nvml& nvml, const Target& target)
    : nvml_(&nvml),
      target_(target),
      requested_(target.columns.begin(), target.columns.end()),
      request_(std::make_unique<GpmRequest>()) {}

GpmMeter::~GpmMeter() {
  for (const Kept& kept : kept_) {
    if (kept.sample != nullptr) nvml_->call().gpm_free(kept.sample);
  }
}

void GpmMeter::begin(CallMeter& meter) {
  GpmSupport support{.version = kGpmSupportVersion, .supported = 0};
  begun_ = nvml_->call().gpm_support(target_.device, &support);
  if (begun_ == Status::kSuccess && support.supported == 0) begun_ = Status::kNotSupported;
  if (begun_ == Status::kSuccess) begun_ = allocate();
  if (begun_ == Status::kSuccess) begun_ = fill_sample(0, meter);
}

bool GpmMeter::declare(CallMeter& meter, const DeviceHealth& health, SeriesTable& table) {
  Status status = begun_;
  if (status == Status::kSuccess) status = fill_sample(1, meter);
  if (status == Status::kSuccess) status = read_metrics(0, 1, meter);
  if (status != Status::kSuccess) {
    table.unavailable(target_.gpu_instance ? "host.gpu.mig.sm.active and the like"
                                           : "host.gpu.sm.active and the like",
                      health.source(),
                      "GPM, the driver's performance monitors of Hopper and later: " +
                          std::string(nvml_->words(status)));
    return false;
  }
  std::vector<GpmColumn> found;
  for (std::size_t i = 0; i < requested_.size(); ++i) {
    const GpmColumn& column = requested_[i];
    if (request_->metrics[i].status == Status::kNotSupported && column.older_id == 0) {
      table.unavailable(column.metric, health.source(), nvml_->words(Status::kNotSupported));
      continue;
    }
    found.push_back(column);
    columns_.push_back(table.add(column.metric, health.source()));
  }
  requested_ = std::move(found);
  return !requested_.empty();
}

Status GpmMeter::allocate() {
  if (!nvml_->call().gpm_free.there()) return Status::kFunctionNotFound;
  for (Kept& kept : kept_) {
    const Status status = nvml_->call().gpm_allocate(&kept.sample);
    if (status != Status::kSuccess) return status;
  }
  return Status::kSuccess;
}

Status GpmMeter::fill_sample(std::size_t slot, CallMeter& meter) {
  return meter.measure(Call::kGpmSample, [&] {
    return target_.gpu_instance ? nvml_->call().gpm_mig_sample(
                                      target_.device, *target_.gpu_instance, kept_[slot].sample)
                                : nvml_->call().gpm_sample(target_.device, kept_[slot].sample);
  });
}

Status GpmMeter::read_metrics(std::size_t earlier, std::size_t later, CallMeter& meter) {
  request_->version = kGpmRequestVersion;
  request_->count = static_cast<std::uint32_t>(requested_.size());
  request_->earlier = kept_[earlier].sample;
  request_->later = kept_[later].sample;
  for (std::size_t i = 0; i < requested_.size(); ++i) {
    request_->metrics[i] = {
        .id = requested_[i].id, .status = Status::kSuccess, .value = std::nan(""), .names = {}};
  }
  return meter.measure(Call::kGpmMetrics,
                       [&] { return nvml_->call().gpm_metrics(request_.get()); });
}

void GpmMeter::sample(CallMeter& meter, DeviceHealth& health, Row& row) {
  if (!meter.due(Call::kGpmMetrics)) return;
  if (!take_sample(meter, health)) return;
  const auto start = window_start();
  if (start && health.accept(Call::kGpmMetrics, read_metrics(*start, newest_, meter)))
    fill(health, row);
}

bool GpmMeter::take_sample(CallMeter& meter, DeviceHealth& health) {
  const Kept& newest = kept_[newest_];
  if (newest.filled && meter.now() - newest.time > kLongestWindow) forget();
  if (newest.filled && meter.now() - newest.time < kSampleSpacing) return false;
  const std::size_t next = (newest_ + 1) % kKept;
  if (!health.accept(Call::kGpmSample, fill_sample(next, meter))) {
    forget();  // a recreated instance must not be compared with the old one
    return false;
  }
  kept_[next].time = meter.now();
  kept_[next].filled = true;
  newest_ = next;
  return true;
}

std::optional<std::size_t> GpmMeter::window_start() const {
  const BootTime end = kept_[newest_].time;
  std::optional<std::size_t> best;
  for (std::size_t i = 0; i < kept_.size(); ++i) {
    if (!kept_[i].filled || end - kept_[i].time < kShortestWindow) continue;
    if (!best || kept_[i].time > kept_[*best].time) best = i;
  }
  return best;
}

void GpmMeter::fill(DeviceHealth& health, Row& row) {
  std::uint64_t refused = 0;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    const GpmMetric& metric = request_->metrics[i];
    GpmColumn& column = requested_[i];
    if (metric.status != Status::kSuccess && column.older_id != 0) {
      column.id = std::exchange(column.older_id, 0);
    } else if (metric.status != Status::kSuccess) {
      refused |= std::uint64_t{1} << i;
    } else if (!std::isnan(metric.value)) {
      row.set(columns_[i], metric.value * column.scale);
    }
  }
  report_refused(refused & ~reported_, health);
  reported_ |= refused;
}

// All that one window lacks in one text.
void GpmMeter::report_refused(std::uint64_t columns, const DeviceHealth& health) const {
  if (columns == 0) return;
  const auto first = static_cast<std::size_t>(std::countr_zero(columns));
  std::array<char, 240> text{};
  char* end = fmt::format_to_n(text.data(), text.size(), "{}; no values of",
                               nvml_->words(request_->metrics[first].status))
                  .out;
  for (std::size_t i = first; i < columns_.size(); ++i) {
    if ((columns >> i & 1U) == 0) continue;
    end = fmt::format_to_n(end, static_cast<std::size_t>(text.data() + text.size() - end), "{} {}",
                           i == first ? "" : ",", requested_[i].metric)
              .out;
  }
  health.tell("{}", std::string_view(text.data(), static_cast<std::size_t>(end - text.data())));
}

void GpmMeter::forget() {
  for (Kept& kept : kept_) kept.filled = false;
}

}  // namespace corral::collect::nvidia
