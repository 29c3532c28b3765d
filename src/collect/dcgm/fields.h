// The fields requested from DCGM: its numbers of fields, and the metric of each, in SI units. The
// names are those of the same quantities from NVML and GPM.
#pragma once

#include <span>
#include <string_view>

#include "collect/dcgm/dcgm_types.h"

namespace corral::collect::dcgm {

struct Field {
  FieldId id;
  std::string_view metric;
  double scale = 1;
};
// Activity of a GPU's units, from the profiling module.
std::span<const Field> profiling_fields();
// The same of a GPU instance (MIG).
std::span<const Field> instance_fields();
// Fields that NVML provides elsewhere, read at every tick and once a second.
std::span<const Field> device_fields();
std::span<const Field> slow_device_fields();

inline constexpr FieldId kNvmlIndex = 52;
inline constexpr FieldId kUuid = 54;

// The number in a value, NaN for one that has none; `blank` says why.
double number_of(const FieldValue& value, Blank& blank);
std::string_view words(Blank blank);

}  // namespace corral::collect::dcgm
