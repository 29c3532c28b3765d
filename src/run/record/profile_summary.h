// Profile summary: turns the tables of nsys and ncu into the summary.json of a profile. Pure.
//
// Columns are found by name: they have been renamed and moved between versions. Numbers may have
// commas between thousands, times any unit that the tool names.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "core/time.h"

namespace corral::run {

struct DeviceTime {
  std::string name;
  std::string kind;  // kernel, communication, memory copy, memory set
  std::int64_t calls = 0;
  double ms = 0;
};
// Parses a table of `nsys stats --format csv`: kernels, or operations on memory. The result is
// empty if the report has none; kUnsupported for any other table.
Result<std::vector<DeviceTime>> parse_nsys_table(std::string_view csv);
// Parses the kernels of `ncu --import FILE --csv` (pages details and raw), summed by name.
Result<std::vector<DeviceTime>> parse_ncu_table(std::string_view csv);

struct ProfileWindow {
  std::string tool;
  std::optional<std::pair<std::int64_t, std::int64_t>> steps;
  std::int64_t start_ns = 0;  // UTC
  std::int64_t end_ns = 0;
};
std::string profile_summary(const ProfileWindow& window, const std::vector<DeviceTime>& times);

}  // namespace corral::run
