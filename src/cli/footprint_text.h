// The answer of GET /runs/{run}/footprint as a person reads it: lines and rows, of a terminal or of
// Markdown.
#pragma once

#include <string>
#include <vector>

#include "core/json.h"

namespace corral::cli {

struct FootprintText {
  std::vector<std::string> lines;              // the summary and what to know about it
  std::vector<std::string> head;               // titles of `rows`
  std::vector<std::vector<std::string>> rows;  // sensors; may be empty
  std::vector<std::string> units;              // energy per epoch, step, sample; gCO2e; money
  std::vector<std::string> efficiency;
};

FootprintText footprint_text(const Json& found);

}  // namespace corral::cli
