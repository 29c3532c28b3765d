// FieldBatch: values of one device that the driver gives by number, many in one call.
//
// Some values have several numbers: newer ones first, the first that the device answers is taken at
// the open. Each value has a status of its own, so one that is refused takes none of the others
// with it.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "collect/nvidia/call_meter.h"
#include "collect/nvidia/device_health.h"
#include "collect/nvidia/nvml.h"

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
};
// The number in a value of that type; NaN for a type that is not known.
double number_of(ValueType type, std::span<const std::byte, 8> value);

std::span<const Field> fast_fields();
std::span<const Field> slow_fields();

class FieldBatch {
 public:
  struct Refused {
    std::string_view metric;
    Status status;
  };
  // `call` is what its calls are counted as.
  FieldBatch(const Nvml& nvml, Device device, Call call)
      : nvml_(&nvml), device_(device), call_(call) {}
  // Asks for each field once; gives back those that the device does not have.
  std::vector<Refused> open(std::span<const Field> fields, CallMeter& meter,
                            const std::string& source, SeriesTable& table);
  void sample(CallMeter& meter, DeviceHealth& health, Row& row);
  // Of the latest sample; NaN when it is not there.
  [[nodiscard]] double latest(std::string_view metric) const;

 private:
  struct Output {
    std::string_view metric;
    Field::Number number;
    Column column = kNoColumn;
    double latest = 0;
  };
  Status probe(CallMeter& meter, const Field::Number& number);
  Status ask(CallMeter& meter);

  const Nvml* nvml_;
  Device device_;
  Call call_;
  std::vector<Output> outputs_;
  std::vector<FieldValue> values_;
};

}  // namespace corral::collect::nvidia
