// The sections of corral.toml for sources beside Corral's own listeners ([exec.NAME],
// [prometheus.NAME], [regex.NAME], [otlp.NAME] and [statsd]), and [pressure], the thresholds of
// events.
//
// It is a reader of its own for two reasons: commands and patterns contain text that the reader of
// options takes for comments and escapes, and an error names its line. The rest of the file is the
// other reader's. docs/sources.md describes the sections for users.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "collect/foreign/config.h"
#include "core/result.h"

namespace corral::cli {

// `file` is how the messages call it: "corral.toml:12: [exec.power] has no option 'comand'; did you
// mean 'command'?". The sources are checked.
Result<collect::foreign::Sources> read_sources(std::string_view text, const std::string& file);

// Takes away the sources that count from a trusted file alone; their sections, as "[exec.power]".
std::vector<std::string> take_untrusted(collect::foreign::Sources& sources);
// Adds them to those of a weaker file; a section replaces that of the same name.
void merge_sources(collect::foreign::Sources& into, collect::foreign::Sources stronger);

// The same text with those sections blanked out, line for line.
std::string without_sources(std::string_view text);

}  // namespace corral::cli
