// Lines of numbers as braille characters, and shares as bars, for a terminal. Pure; any thread.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>

namespace corral::cli {

// The values from left to right in so many characters, from their least value at the bottom to
// their greatest at the top. Each character has two columns of four dots; neighbours are joined.
// Missing values, and those that are not finite, continue the one before: some metrics have fewer
// points than there are columns. Values that are all equal lie above the bottom.
std::string braille_line(std::span<const std::optional<double>> values, std::size_t columns);

// `share` of so many characters is filled, in eighths; less than 0 is none, more than 1 is all.
std::string share_bar(double share, std::size_t columns);

}  // namespace corral::cli
