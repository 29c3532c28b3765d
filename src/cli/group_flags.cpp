#include "cli/group_flags.h"

#include <fmt/core.h>

#include <chrono>
#include <utility>

#include "cli/answers.h"
#include "cli/destination.h"
#include "core/text.h"

namespace corral::cli {

void add_group_flags(Arguments& arguments, GroupFlags& flags) {
  arguments.positionals("group", flags.groups,
                        "name of runs, a workload's name, a run, or a filter");
  arguments.text("by", flags.by, "make the groups anew: params.KEY, tags.KEY, name, workload, ...");
  arguments.text("metric", flags.metric, "compare this metric, or duration (default: step_time)");
  arguments.choice("of", flags.of, {"mean", "min", "max", "last"},
                   "of the metric in the steady part (default: mean)");
  arguments.text("margin", flags.margin,
                 "smaller differences do not matter (default: as planned, else 2%)");
  for (const char* name : {"by", "metric", "of", "margin"}) arguments.as_flag_only(name);
}

Result<Json> group_question(const GroupFlags& flags) {
  const auto margin = parse_share(flags.margin);
  if (!flags.margin.empty() && !(margin && *margin > 0 && *margin < 1))
    return fail(
        Code::kInvalidArgument,
        fmt::format("--margin '{}': expected a share such as 2% or 0.02", printable(flags.margin)));
  Json question{Json::Object{}};
  Json::Array groups;
  for (const std::string& group : flags.groups)
    groups.emplace_back(Json::Object{{"named", Json(group)}});
  question.set("groups", Json(std::move(groups)));
  if (margin) question.set("margin", *margin);
  if (!flags.by.empty()) question.set("by", flags.by);
  if (!flags.metric.empty()) question.set("value", flags.metric);
  if (!flags.of.empty()) question.set("of", flags.of);
  return question;
}

bool is_of_time(const GroupFlags& flags) {
  return flags.metric.empty() || flags.metric == "step_time" || flags.metric == "duration";
}

Result<Json> ask_about_groups(const sys::HttpTarget& server, std::string_view path,
                              const Json& question) {
  const std::string whole = fmt::format("/api/corral/v1/{}", path), body = question.dump();
  return send_json(
      server, {.method = "POST", .path = whole, .body = body, .timeout = std::chrono::minutes(10)});
}

}  // namespace corral::cli
