// GpmMeter: what the units of one GPU or MIG instance did, from the driver's performance monitors
// (GPM: Hopper and later, no profiler's lock).
//
// The driver gives averages between two samples that should lie at least 100 ms apart. Some samples
// are kept, so that each tick has an average over the shortest window that is long enough; a window
// across a pause is not used. All metrics come in one call. Never changes GPM's own settings.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "collect/nvidia/call_meter.h"
#include "collect/nvidia/device_health.h"
#include "collect/nvidia/nvml.h"

namespace corral::collect::nvidia {

struct GpmColumn {
  std::uint32_t id;
  std::string_view metric;
  double scale;                // from the driver's % or MiB/s
  std::uint32_t older_id = 0;  // of drivers that do not know `id`; 0: none
};

class GpmMeter {
 public:
  static constexpr Nanos kShortestWindow = std::chrono::milliseconds(100);
  static constexpr Nanos kLongestWindow = std::chrono::seconds(3);
  static constexpr Nanos kSampleSpacing = std::chrono::milliseconds(45);

  struct Target {
    Device device = nullptr;                 // the whole GPU, for an instance too
    std::optional<unsigned> gpu_instance{};  // of a MIG instance
    std::span<const GpmColumn> columns;
  };
  // Nothing, told to the table, where there is no GPM.
  static std::unique_ptr<GpmMeter> open(const Nvml& nvml, const Target& target,
                                        const DeviceHealth& health, SeriesTable& table);
  ~GpmMeter();
  GpmMeter(const GpmMeter&) = delete;
  GpmMeter& operator=(const GpmMeter&) = delete;

  void sample(CallMeter& meter, DeviceHealth& health, Row& row);

 private:
  static constexpr std::size_t kKept = 4;
  struct Kept {
    GpmSample sample = nullptr;
    BootTime time{};
    bool filled = false;
  };

  GpmMeter(const Nvml& nvml, const Target& target);
  Status allocate();
  bool take_sample(CallMeter& meter, DeviceHealth& health);
  [[nodiscard]] const Kept* window_start() const;
  void fill(DeviceHealth& health, Row& row);
  void tell_refused(std::uint64_t columns, const DeviceHealth& health) const;
  void forget();

  const Nvml* nvml_;
  Target target_;
  std::vector<Column> columns_;
  std::vector<std::uint32_t> ids_;  // by which each is asked for
  std::array<Kept, kKept> kept_;
  std::size_t newest_ = 0;
  std::uint64_t told_ = 0;  // bit per column
  std::unique_ptr<GpmRequest> request_;
};

std::span<const GpmColumn> gpm_columns();
std::span<const GpmColumn> gpm_instance_columns();

}  // namespace corral::collect::nvidia
