// The answer of GET /plans/{plan}/workflow as a person reads it: lines and rows, of a terminal or
// of Markdown.
#pragma once

#include <string>
#include <vector>

#include "core/json.h"

namespace corral::cli {

struct WorkflowText {
  std::string summary;
  std::vector<std::string> head;               // titles of `rows`
  std::vector<std::vector<std::string>> rows;  // the critical path; may be empty
  std::vector<std::string> lines;              // stages, queue, hosts, runs that did not finish
  std::vector<std::string> footprint;
};

WorkflowText workflow_text(const Json& found);

}  // namespace corral::cli
