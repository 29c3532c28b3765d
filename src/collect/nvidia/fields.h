// FieldBatch: values of one device that the driver gives by number, many in one call.
//
// Some values have several numbers: newer ones first, the first that the device answers is taken at
// the open. Each value has a status of its own, so one that is refused takes none of the others
// with it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "collect/nvidia/calls.h"
#include "collect/nvidia/nvml.h"
#include "core/time.h"

namespace corral::collect::nvidia {

inline constexpr std::uint32_t kAllLinks = 0xFFFFFFFF;  // scope: the sum over all NVLinks

struct Field {
  std::string_view metric;
  struct Number {
    std::uint32_t field = 0;  // 0: none
    std::uint32_t scope = 0;
    double scale = 1;
  };
  std::array<Number, 2> numbers;
  bool pcie_bytes = false;  // a counter that wraps
};
// The number in a value of that type; NaN for a type that is not known.
double read_number(ValueType type, std::span<const std::byte, 8> value);

std::span<const Field> fast_fields();
std::span<const Field> slow_fields();

// The speed of the device's PCIe link in each direction, the fastest that device and slot can do;
// nullopt: the driver does not say.
std::optional<double> pcie_bytes_per_second(const Nvml& nvml, Device device);

// PcieCounter: bytes over PCIe from the driver's counter of them, which wraps.
//
// The driver says so without naming the width. Counters of 32 bits are added up: that is right only
// if at most one wrap lies between two readings, so the bandwidth of the link sets how often they
// must come. A counter of 64 bits is taken as it is, until it is seen to wrap at 32. One thread; no
// allocation.
class PcieCounter {
 public:
  // In which 32 bits are full at the link's full rate; of an unknown link the fastest there is.
  static Nanos shortest_wrap(const Nvml& nvml, Device device);
  static bool is_narrow(ValueType type);

  PcieCounter(bool narrow, Nanos shortest_wrap) : narrow_(narrow), shortest_wrap_(shortest_wrap) {}

  enum class Outcome : std::uint8_t {
    kCounted,
    kTooLate,  // no value; the count begins again at 0, which readers take for a reset
    kWraps,    // no values from now on: it has 64 bits and wraps at 32
  };
  Outcome add(BootTime now, double raw);
  [[nodiscard]] double total() const { return total_; }

 private:
  bool narrow_;
  Nanos shortest_wrap_;
  bool begun_ = false;
  bool wraps_ = false;
  BootTime last_time_{};
  double last_ = 0;
  double total_ = 0;
};

class FieldBatch {
 public:
  struct Refused {
    std::string_view metric;
    std::string why;
  };
  // `call` is the kind under which its calls are counted, `tick` the time from one to the next.
  FieldBatch(const Nvml& nvml, Device device, Call call, Nanos tick)
      : nvml_(&nvml), device_(device), call_(call), tick_(tick) {}
  // Asks for each field once; gives back those that the device does not have.
  std::vector<Refused> open(std::span<const Field> fields, CallMeter& meter,
                            const std::string& source, SeriesTable& table);
  void sample(CallMeter& meter, DeviceHealth& health, Row& row);
  // Returns the value of the latest sample; NaN if there is none.
  [[nodiscard]] double latest(std::string_view metric) const;

 private:
  struct Output {
    std::string_view metric;
    Field::Number number;
    Column column = kNoColumn;
    double latest = 0;
    std::optional<PcieCounter> counter;
  };
  // Asks each of its numbers; `value` is the first good answer, else the status is the first's.
  Status probe(const Field& field, CallMeter& meter, FieldValue& value);
  Status read(CallMeter& meter);
  // The value of one output's answer; NaN where there is none.
  double take(Output& output, const FieldValue& value, BootTime now, DeviceHealth& health);

  const Nvml* nvml_;
  Device device_;
  Call call_;
  Nanos tick_;
  bool reported_late_ = false;
  std::vector<Output> outputs_;
  std::vector<FieldValue> values_;
};

}  // namespace corral::collect::nvidia
