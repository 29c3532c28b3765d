#include "collect/dcgm/fields.h"

#include <array>
#include <cmath>

namespace corral::collect::dcgm {
namespace {

constexpr double kPercent = 0.01;
constexpr double kMega = 1e6;
constexpr double kMilli = 1e-3;
constexpr double kMib = 1024.0 * 1024.0;
// Factor for the times that clocks were held down: NVML's own ns, even if headers of DCGM 3 and
// earlier claim otherwise.
constexpr double kNano = 1e-9;

constexpr auto kProfiling = std::to_array<Field>({
    {1001, "host.gpu.graphics.active"},
    {1002, "host.gpu.sm.active"},
    {1003, "host.gpu.sm.occupancy"},
    {1004, "host.gpu.pipe.tensor"},
    {1005, "host.gpu.dram.active"},
    {1006, "host.gpu.pipe.fp64"},
    {1007, "host.gpu.pipe.fp32"},
    {1008, "host.gpu.pipe.fp16"},
    {1009, "host.gpu.pcie.tx_rate"},
    {1010, "host.gpu.pcie.rx_rate"},
    {1011, "host.gpu.nvlink.tx_rate"},
    {1012, "host.gpu.nvlink.rx_rate"},
    {1013, "host.gpu.pipe.tensor_int8"},
    {1014, "host.gpu.pipe.tensor_fp16"},
    {1015, "host.gpu.pipe.tensor_fp64"},
    {1016, "host.gpu.pipe.integer"},
});
constexpr auto kInstance = std::to_array<Field>({
    {1001, "host.gpu.mig.graphics.active"},
    {1002, "host.gpu.mig.sm.active"},
    {1003, "host.gpu.mig.sm.occupancy"},
    {1004, "host.gpu.mig.pipe.tensor"},
    {1005, "host.gpu.mig.dram.active"},
    {1006, "host.gpu.mig.pipe.fp64"},
    {1007, "host.gpu.mig.pipe.fp32"},
    {1008, "host.gpu.mig.pipe.fp16"},
    {1016, "host.gpu.mig.pipe.integer"},
});
constexpr auto kDevice = std::to_array<Field>({
    {203, "host.gpu.busy", kPercent},
    {204, "host.gpu.memory.busy", kPercent},
    {252, "host.gpu.memory.used", kMib},
    {251, "host.gpu.memory.free", kMib},
    {155, "host.gpu.power"},
    {157, "host.gpu.power.instant"},
    {156, "host.gpu.energy", kMilli},
    {100, "host.gpu.clock.sm", kMega},
    {101, "host.gpu.clock.memory", kMega},
    {112, "host.gpu.throttle.reasons"},
});
constexpr auto kSlowDevice = std::to_array<Field>({
    {250, "host.gpu.memory.total", kMib},
    {150, "host.gpu.temperature"},
    {140, "host.gpu.memory.temperature"},
    {190, "host.gpu.performance_state"},
    {206, "host.gpu.encoder.busy", kPercent},
    {207, "host.gpu.decoder.busy", kPercent},
    {202, "host.gpu.pcie.replays"},
    {240, "host.gpu.throttle.power", kNano},
    {241, "host.gpu.throttle.thermal", kNano},
    {242, "host.gpu.throttle.sync_boost", kNano},
    {243, "host.gpu.throttle.board_limit", kNano},
    {244, "host.gpu.throttle.low_utilization", kNano},
    {245, "host.gpu.throttle.reliability", kNano},
    {246, "host.gpu.throttle.application_clocks", kNano},
    {247, "host.gpu.throttle.base_clocks", kNano},
    {1422, "host.gpu.throttle.software_thermal", kNano},  // these from DCGM 4 on
    {1423, "host.gpu.throttle.hardware_thermal", kNano},
    {1424, "host.gpu.throttle.power_brake", kNano},
});

Blank blank_of(std::int64_t code) {
  return code >= 0 && code <= 3 ? static_cast<Blank>(code) : Blank::kNoValue;
}

}  // namespace

std::span<const Field> profiling_fields() { return kProfiling; }
std::span<const Field> instance_fields() { return kInstance; }
std::span<const Field> device_fields() { return kDevice; }
std::span<const Field> slow_device_fields() { return kSlowDevice; }

double number_of(const FieldValue& value, Blank& blank) {
  blank = Blank::kNone;
  if (value.type == 'd') {
    const double number = value.real();
    if (number < kRealBlank) return number;
    // NaN comes here, too.
    blank = number < kRealBlank + 16 ? blank_of(static_cast<std::int64_t>(number - kRealBlank))
                                     : Blank::kNoValue;
  } else if (value.type == 'i') {
    const std::int64_t number = value.integer();
    const bool narrow = number >= kNarrowBlank && number <= kNarrowBlank + 3;
    if (number < kIntegerBlank && !narrow) return static_cast<double>(number);
    blank = blank_of(number - (narrow ? kNarrowBlank : kIntegerBlank));
  } else {
    blank = Blank::kNoValue;
  }
  return std::nan("");
}

std::string_view words(Blank blank) {
  switch (blank) {
    case Blank::kNotFound:
      return "DCGM does not find it on this device";
    case Blank::kNotSupported:
      return "this device does not support it";
    case Blank::kRefused:
      return "the host engine is not permitted to read it";
    case Blank::kNone:
    case Blank::kNoValue:
      break;
  }
  return "the host engine has no value of it";
}

}  // namespace corral::collect::dcgm
