// The lines of corral.toml, and whether each can be read as it is meant. CLI11's reader skips what
// it does not understand, so that a slip of the pen would be a setting that silently does not
// count; this says where it is.
//
// Taken: comments, [section], option = value, where a value is a word, a quoted text or an array
// of them, which may go over several lines.
#pragma once

#include <istream>
#include <string>
#include <vector>

#include "core/result.h"

namespace corral::cli {

struct ConfigLine {
  int number = 0;
  std::string section;  // empty: above all sections
  std::string option;   // without quotes; empty: the line opens the section
};

// The error is "LINE: 'text' and what is wrong with it" for the first line that is wrong.
Result<std::vector<ConfigLine>> config_lines(std::istream& in);

}  // namespace corral::cli
