// A value of a line of corral.toml, as TOML writes it: "text", 'text', a word or number, or an
// array of texts.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"

namespace corral::cli {

struct TomlValue {
  std::vector<std::string> items;  // one unless it is an array
  bool array = false;
};

// True if an array is opened and not closed, so that the next line belongs to it.
bool goes_on(std::string_view value);

// kInvalidArgument names the fault.
Result<TomlValue> parse_toml_value(std::string_view text);

}  // namespace corral::cli
