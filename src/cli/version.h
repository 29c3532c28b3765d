// The version of this Corral.
#pragma once

#include <string_view>

namespace corral::cli {

inline constexpr std::string_view kVersion = CORRAL_VERSION;

}  // namespace corral::cli
