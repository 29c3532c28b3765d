// Numbers as people and programs print them.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace corral::collect::foreign {

// The whole text: "12", "+1.5e-3", "nan", "-Inf"; nothing when it is anything else or has no place
// in a double.
std::optional<double> read_number(std::string_view text);

// A number and what stands right behind it: "35.20 W", "98%", "12ms".
struct NumberWithUnit {
  double value;
  std::string_view unit;  // without blanks around; a view of the text
};
std::optional<NumberWithUnit> read_number_with_unit(std::string_view text);

// The step that a value stands for; nothing unless it is a whole number.
std::optional<std::int64_t> to_step(double value);

}  // namespace corral::collect::foreign
