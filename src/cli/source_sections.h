// The sections of corral.toml that say what is recorded beside Corral's own listeners: [exec.NAME],
// [prometheus.NAME], [regex.NAME], [otlp.NAME] and [statsd]; and [pressure], what is an event.
//
// A reader of its own, because commands and patterns hold what the reader of options takes for
// comments and escapes, and because a slip of the pen is answered with its line. The rest of the
// file is the other reader's. docs/sources.md is the user's side of it.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "collect/foreign/config.h"
#include "core/result.h"

namespace corral::cli {

// `file` is how the messages call it: "corral.toml:12: [exec.power] has no option 'comand'; did you
// mean 'command'?". The sources are checked.
Result<collect::foreign::Sources> read_sources(std::string_view text, const std::string& file);

// Those of a file; none when the path is empty.
Result<collect::foreign::Sources> read_sources_of(const std::filesystem::path& file);

// The same text with those sections blanked out, line for line.
std::string without_sources(std::string_view text);

}  // namespace corral::cli
