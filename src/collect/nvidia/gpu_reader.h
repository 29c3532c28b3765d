// GpuReader: one GPU, or one MIG instance of it, as a source ("gpu0", "gpu0.mig1"): its identity,
// its metrics, and their values.
//
// Indices are the driver's, in order of the PCI addresses. Values of the whole device stay the
// device's: an instance has memory and unit activity of its own, and all else is reported as
// unavailable.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "collect/nvidia/calls.h"
#include "collect/nvidia/fields.h"
#include "collect/nvidia/gpm.h"
#include "collect/nvidia/nvml.h"
#include "collect/nvidia/queries.h"
#include "collect/nvidia/sample_rings.h"
#include "collect/proc_file.h"
#include "core/time.h"

namespace corral::collect::nvidia {

// A device as the open finds it.
struct FoundGpu {
  unsigned index = 0;
  Device device = nullptr;
  std::string uuid;
  struct Instance {
    unsigned index = 0;
    Device device = nullptr;
    std::string uuid;
    std::optional<unsigned> gpu_instance;
  };
  bool mig = false;
  std::vector<Instance> instances;
};
inline std::string gpu_source(unsigned index) { return "gpu" + std::to_string(index); }
// Those whose UUID, or an instance's, is in `wanted`; all when it is empty. GPUs that cannot be
// reached are reported to the table.
std::vector<FoundGpu> find_gpus(const Nvml& nvml, const std::vector<std::string>& wanted,
                                SeriesTable& table);

// EnergyCheck: does a device's energy counter agree with its power over time?
//
// Both come from the same sensor by different ways, and on some devices one of them is wrong. They
// are compared over windows long enough that the average's lag and the counter's steps do not
// matter. Pure.
class EnergyCheck {
 public:
  static constexpr Nanos kWindow = std::chrono::seconds(30);
  static constexpr Nanos kLongestGap = std::chrono::seconds(3);  // more: a new window begins
  static constexpr double kTolerance = 0.10;

  struct Comparison {
    double counter_joules;
    double integral_joules;
    [[nodiscard]] bool agrees() const;
  };
  // NaN is a value that is missing. A comparison at the end of each window.
  std::optional<Comparison> add(BootTime now, double watts, double joules);

 private:
  void begin(BootTime now, double watts, double joules);
  BootTime start_{};
  BootTime last_{};
  bool begun_ = false;
  double first_joules_ = 0;
  double last_joules_ = 0;
  double last_watts_ = 0;
  double integral_ = 0;
};

// The parts that the readers of all GPUs share.
struct ReaderParts {
  const Nvml& nvml;
  std::shared_ptr<News> news;
  CallMeter& meter;
  const std::filesystem::path& root;
  const Clocks& clocks;
  Nanos tick;
};

class InstanceReader {
 public:
  InstanceReader(const ReaderParts& parts, const FoundGpu& gpu, const FoundGpu::Instance& instance,
                 SeriesTable& table);
  void declare_units(CallMeter& meter, SeriesTable& table);
  void sample_fast(CallMeter& meter, Row& row);

 private:
  DeviceHealth health_;
  QueryList queries_;
  std::unique_ptr<GpmMeter> gpm_;
};

class GpuReader {
 public:
  // declare_units() follows, once GpmMeter::kShortestWindow has passed.
  GpuReader(const ReaderParts& parts, const FoundGpu& gpu, SeriesTable& table);
  void declare_units(CallMeter& meter, SeriesTable& table);
  void sample_fast(CallMeter& meter, Row& row);
  void sample_slow(CallMeter& meter, Row& row);

 private:
  void open_fields(const ReaderParts& parts, const QueryList::Subject& subject, SeriesTable& table);
  void describe(const ReaderParts& parts, const FoundGpu& gpu, SeriesTable& table);
  // Reading would wake a device up that the kernel sent to sleep.
  bool asleep();
  void check_energy(BootTime now);

  DeviceHealth health_;
  QueryList fast_;
  QueryList slow_;
  FieldBatch fast_fields_;
  FieldBatch slow_fields_;
  SampleRings rings_;
  std::unique_ptr<GpmMeter> gpm_;
  std::vector<std::unique_ptr<InstanceReader>> instances_;
  std::optional<ProcFile> runtime_status_;
  EnergyCheck energy_check_;
  bool energy_reported_ = false;
};

}  // namespace corral::collect::nvidia
