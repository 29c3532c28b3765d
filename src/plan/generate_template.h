// Templates of a specification's columns: text with {name} where a value stands; {{ and }} are the
// brackets themselves. Pure.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"

namespace corral::plan {

// Values that the matrix itself gives: n (number of the cell in its experiment), i (of the run in
// its workload, from 0), k, job, sharing, experiment.
std::span<const std::string_view> given_values();
bool is_given_value(std::string_view name);
bool is_value_name(std::string_view name);  // letters, digits, _ and -, a letter first

// Returns the names that a template holds; kInvalidArgument describes its fault.
Result<std::vector<std::string>> template_names(std::string_view text);

// kNotFound: the message is the first name that `value` does not have.
using ValueOf = std::function<std::optional<std::string>(std::string_view name)>;
Result<std::string> fill_template(std::string_view text, const ValueOf& value);

}  // namespace corral::plan
