// The lines of corral.toml, with a check of each. CLI11's reader skips lines that it does not
// understand, so a misspelt setting would silently not count; this check reports it.
//
// Accepted: comments, [section], option = value. A value is a word, a quoted text or an array of
// them, which may go over several lines.
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

// The error is "LINE: 'text' and the reason" for the first line that is wrong.
Result<std::vector<ConfigLine>> config_lines(std::istream& in);

}  // namespace corral::cli
