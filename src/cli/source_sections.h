// The sections of corral.toml that say what is recorded beside Corral's own listeners: [exec.NAME],
// [prometheus.NAME], [regex.NAME], [otlp.NAME] and [statsd]; and [pressure], what is an event.
//
// A reader of its own, because commands and patterns hold what the reader of options takes for
// comments and escapes, and because a slip of the pen is answered with its line. The rest of the
// file is the other reader's. docs/sources.md is the user's side of it.
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
// Adds them to those of a weaker file, of which they replace what has the same name.
void merge_sources(collect::foreign::Sources& into, collect::foreign::Sources stronger);

// The same text with those sections blanked out, line for line.
std::string without_sources(std::string_view text);

}  // namespace corral::cli
