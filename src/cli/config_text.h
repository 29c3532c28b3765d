// The text of corral.toml: its options, line by line, and its sections of sources beside Corral's
// own listeners ([exec.NAME], [prometheus.NAME], [regex.NAME], [otlp.NAME] and [statsd]) with
// [pressure], the thresholds of events, and [footprint], the prices of energy.
//
// CLI11 reads the options, and skips lines that it does not understand, so a misspelt setting would
// silently not count: read_config_lines() reports it. The sections have a reader of their own for
// two reasons: commands and patterns contain text that CLI11 takes for comments and escapes, and an
// error names its line. docs/sources.md describes the sections for users.
#pragma once

#include <istream>
#include <string>
#include <string_view>
#include <vector>

#include "collect/foreign/config.h"
#include "core/result.h"

namespace corral::cli {

struct ConfigLine {
  int number = 0;
  std::string section;  // empty: above all sections
  std::string option;   // without quotes; empty: the line opens the section
};

// The error is "LINE: 'text' and the reason" for the first line that is wrong.
Result<std::vector<ConfigLine>> read_config_lines(std::istream& in);

struct TomlValue {
  std::vector<std::string> items;  // one unless it is an array
  bool array = false;
};

// True if an array is opened and not closed, so that the next line belongs to it.
bool is_open_array(std::string_view value);

// kInvalidArgument names the fault.
Result<TomlValue> parse_toml_value(std::string_view text);

// `file` is how the messages call it: "corral.toml:12: [exec.power] has no option 'comand'; did you
// mean 'command'?". The sources are checked.
Result<collect::foreign::Sources> read_sources(std::string_view text, const std::string& file);

// Takes away the sources that count from a trusted file alone; their sections, as "[exec.power]".
std::vector<std::string> remove_untrusted(collect::foreign::Sources& sources);
// Adds them to those of a weaker file; a section replaces that of the same name.
void merge_sources(collect::foreign::Sources& into, collect::foreign::Sources stronger);

// The same text with those sections blanked out, line for line.
std::string without_sources(std::string_view text);

}  // namespace corral::cli
