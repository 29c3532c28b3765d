// Asking whether a ./corral.toml is to be trusted.
#pragma once

#include <string>
#include <vector>

#include "cli/config_file.h"

namespace corral::cli {

// Somebody can be asked: standard input and standard error are terminals.
bool at_terminal();
// Shows the file and asks; `held` names the keys that count only after a yes, which is remembered.
// An end of the input is a no; Ctrl-C ends the process.
bool ask_to_trust(ConfigFile& file, const std::vector<std::string>& held);

}  // namespace corral::cli
