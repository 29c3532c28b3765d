// Regular expressions of a person's configuration: RE2, linear in time for any pattern.
#pragma once

#include <re2/re2.h>

#include <memory>
#include <string_view>

#include "core/result.h"

namespace corral::collect::foreign {

// "(?<name>" is taken for "(?P<name>". kInvalidArgument quotes what RE2 does not understand.
Result<std::unique_ptr<const re2::RE2>> compile_pattern(std::string_view pattern);

inline re2::StringPiece piece(std::string_view text) { return {text.data(), text.size()}; }

}  // namespace corral::collect::foreign
