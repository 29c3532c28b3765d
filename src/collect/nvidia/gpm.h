// GpmMeter: activity of the units of one GPU or MIG instance, from the driver's performance
// monitors (GPM: Hopper and later, no profiler's lock).
//
// The driver gives averages between two samples that lie more than 100 ms apart: on an H100,
// windows of 50 and 80 ms succeeded and held 0 or 100 %. Some samples are kept, so that each tick
// has an average over the shortest window that is long enough; a window across a pause is not used.
// All metrics come in one call. Never changes GPM's own settings.
//
// A device that claims to have GPM may still refuse to sample: two samples are taken before
// anything is declared, so that DCGM is asked for the metrics that are missing here.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "collect/nvidia/calls.h"
#include "collect/nvidia/nvml.h"

namespace corral::collect::nvidia {

struct GpmColumn {
  std::uint32_t id;
  std::string_view metric;
  double scale;                // from the driver's % or MiB/s
  std::uint32_t older_id = 0;  // id in drivers that do not know `id`; 0: none
};

class GpmMeter {
 public:
  static constexpr Nanos kShortestWindow = std::chrono::milliseconds(120);
  static constexpr Nanos kLongestWindow = std::chrono::seconds(3);
  static constexpr Nanos kSampleSpacing = std::chrono::milliseconds(45);

  struct Target {
    Device device = nullptr;                 // the whole GPU, for an instance too
    std::optional<unsigned> gpu_instance{};  // set for a MIG instance
    std::span<const GpmColumn> columns;
  };
  GpmMeter(const Nvml& nvml, const Target& target);
  ~GpmMeter();
  GpmMeter(const GpmMeter&) = delete;
  GpmMeter& operator=(const GpmMeter&) = delete;

  // Takes the first sample.
  void begin(CallMeter& meter);
  // Takes the second and declares the metrics of the two; if there are none, reports that to the
  // table and returns false.
  bool declare(CallMeter& meter, const DeviceHealth& health, SeriesTable& table);
  void sample(CallMeter& meter, DeviceHealth& health, Row& row);

 private:
  static constexpr std::size_t kKept = 4;
  struct Kept {
    GpmSample sample = nullptr;
    BootTime time{};
    bool filled = false;
  };

  Status allocate();
  Status fill_sample(std::size_t slot, CallMeter& meter);
  // All metrics between two samples.
  Status read_metrics(std::size_t earlier, std::size_t later, CallMeter& meter);
  bool take_sample(CallMeter& meter, DeviceHealth& health);
  [[nodiscard]] std::optional<std::size_t> window_start() const;
  void fill(DeviceHealth& health, Row& row);
  void report_refused(std::uint64_t columns, const DeviceHealth& health) const;
  void forget();

  const Nvml* nvml_;
  Target target_;
  Status begun_ = Status::kNotSupported;
  std::vector<GpmColumn> requested_;
  std::vector<Column> columns_;
  std::array<Kept, kKept> kept_;
  std::size_t newest_ = 0;
  std::uint64_t reported_ = 0;  // bit per column
  std::unique_ptr<GpmRequest> request_;
};

std::span<const GpmColumn> gpm_columns();
std::span<const GpmColumn> gpm_instance_columns();

}  // namespace corral::collect::nvidia
