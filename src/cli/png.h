// A figure's SVG as PNG, by librsvg and cairo, which are looked for when they are first needed.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"

namespace corral::cli {

struct PngSize {
  int width, height;  // pixels
};
// `fonts`: TrueType files for the texts of the SVG, beside those of the system. kUnsupported names
// the Debian package where librsvg is missing.
Result<std::string> png_of(std::string_view svg, PngSize size,
                           const std::vector<std::string_view>& fonts);

}  // namespace corral::cli
