// GroupFlags: the groups of runs that a command is about, and the value of each run.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/arguments.h"
#include "core/json.h"
#include "core/result.h"
#include "sys/http_client.h"

namespace corral::cli {

struct GroupFlags {
  std::vector<std::string> groups;
  std::string by, metric, of, margin;
};
void add_group_flags(Arguments& arguments, GroupFlags& flags);
// The members groups, by, value, of and margin of a request. kInvalidArgument: not such a margin.
Result<Json> group_question(const GroupFlags& flags);
// Its value is a time: less is better.
bool is_of_time(const GroupFlags& flags);
// The answer of POST /api/corral/v1/PATH. It may take minutes: many runs may have many phases.
Result<Json> ask_about_groups(const sys::HttpTarget& server, std::string_view path,
                              const Json& question);

}  // namespace corral::cli
