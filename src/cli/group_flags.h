// GroupFlags: the groups of runs that a command is about, and the value of each run.
#pragma once

#include <string>
#include <vector>

#include "cli/arguments.h"
#include "core/json.h"
#include "core/result.h"

namespace corral::cli {

struct GroupFlags {
  std::vector<std::string> groups;
  std::string by, metric, of, margin = "2%";
};
void add_group_flags(Arguments& arguments, GroupFlags& flags);
// The members groups, by, value, of and margin of a request. kInvalidArgument: not such a margin.
Result<Json> group_question(const GroupFlags& flags);

}  // namespace corral::cli
