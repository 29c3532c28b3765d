// RunGroup: a workload, plan or experiment, as people name it.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "core/result.h"
#include "sys/http_client.h"

namespace corral::cli {

// Runs that belong together: a workload, an experiment, or a plan with the rows that have runs.
struct RunGroup {
  std::string what;  // "workload 7"
  std::string kind;  // "workloads", "plans" or "experiments", as in routes and searches
  std::string id;
  std::string path;  // its route, without the last part
  std::vector<std::string> runs;
  std::size_t without_run = 0;  // rows of a plan
};

// The workload or plan that `text` names, by name, file or the start of its id; else the experiment
// of that name. If several plans' files have this name, the file that it names here decides.
Result<RunGroup> find_group(const sys::HttpTarget& server, const std::string& text);

}  // namespace corral::cli
