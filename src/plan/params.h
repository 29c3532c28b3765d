// Params: from cells to the words of a command, and to their record.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "plan/plan.h"

namespace corral::plan {

// As a shell splits a line: spaces, '…', "…", \x. Nothing else means anything ($, *, ; are plain).
// Nothing when a quote is not closed.
std::optional<std::vector<std::string>> shell_words(std::string_view text);

// The paper's form, "batch-size=128,epochs=5" (or with ; or spaces): "--batch-size" "128" …
// Nothing when the text is not of that form; then its words stand as they are.
std::optional<std::vector<std::string>> paper_words(std::string_view text);

// "--key value", "--key=value", "-k value", "--flag" (true), "key=value". The last of a key counts.
Pairs parse_params(const std::vector<std::string>& words);

}  // namespace corral::plan
