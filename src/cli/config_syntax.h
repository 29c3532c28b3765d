// Whether corral.toml can be read as it is meant. CLI11's reader skips what it does not understand,
// so that a slip of the pen would be a setting that silently does not count; this says where it is.
//
// Taken: comments, [section], option = value, where a value is a word, a quoted text or an array
// of them, which may go over several lines.
#pragma once

#include <istream>
#include <optional>
#include <string>

namespace corral::cli {

// "LINE: 'text' and what is wrong with it" for the first line that is wrong.
std::optional<std::string> config_error(std::istream& in);

}  // namespace corral::cli
