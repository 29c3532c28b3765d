// Images, sounds and histograms of TensorBoard's events as files (docs/media.md). Pure; trusts no
// byte.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace corral::imports {

// "png", "jpg", "gif" or "wav", by a file's first bytes; empty: another format.
std::string_view media_ending(std::string_view file);
// The encoded file in a Summary.Image or Summary.Audio; empty: it has none.
std::string_view encoded_file(std::string_view message);

// The content of a histogram's file. Nothing: it is malformed, or its bins leave gaps.
std::optional<std::string> histogram_of_proto(std::string_view histogram_proto);
// `rows`: left edge, right edge and count of each bin, upwards.
std::optional<std::string> histogram_of_rows(std::span<const double> rows);

// The float or double elements of a TensorProto. Nothing: other types, too many, malformed.
std::optional<std::vector<double>> tensor_reals(std::string_view tensor_proto);

}  // namespace corral::imports
