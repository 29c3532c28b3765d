#include "cli/run_group.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "cli/answers.h"
#include "cli/destination.h"
#include "core/json.h"
#include "core/text.h"
#include "plan/plan_file.h"
#include "sys/socket.h"

namespace corral::cli {
namespace {

bool has_id(const Json& one, const std::string& text) {
  constexpr std::size_t kLeastPrefix = 4;
  return text.size() >= kLeastPrefix && one.get_string("id").starts_with(text);
}

RunGroup empty_group(std::string what, std::string kind, const std::string& id) {
  const std::string path = "/api/corral/v1/" + kind + "/" + sys::url_encode(id);
  return {.what = std::move(what), .kind = std::move(kind), .id = id, .path = path, .runs = {}};
}

RunGroup group_of_workload(const Json& workload) {
  RunGroup group = empty_group("workload " + printable(workload.get_string("name")), "workloads",
                               workload.get_string("id"));
  for (const Json& run : items(workload, "members")) group.runs.push_back(run.get_string("id"));
  return group;
}

Result<RunGroup> group_of_plan(const sys::HttpTarget& server, const Json& plan) {
  RunGroup group =
      empty_group("plan " + printable(plan.get_string("file")), "plans", plan.get_string("id"));
  const Json document = TRY(get_json(server, group.path));
  for (const Json& row : items(document, "runs")) {
    if (std::string run = row.get_string("run"); run.empty()) {
      ++group.without_run;
    } else {
      group.runs.push_back(std::move(run));
    }
  }
  return group;
}

// The experiment of this name.
Result<RunGroup> find_experiment(const sys::HttpTarget& server, const std::string& name) {
  const Json experiments = TRY(get_json(server, "/api/corral/v1/experiments"));
  for (const Json& one : items(experiments, "experiments")) {
    if (one.get_string("name") != name) continue;
    const std::string id = one.get_string("id");
    RunGroup group = empty_group("experiment " + printable(name), "experiments", id);
    const Json workloads = TRY(get_json(server, "/api/corral/v1/workloads?experiment=" + id));
    for (const Json& workload : items(workloads, "workloads"))
      for (const Json& run : items(workload, "runs")) group.runs.push_back(plain(run).text);
    return group;
  }
  return fail(Code::kNotFound,
              fmt::format("no run, workload, plan or experiment '{}'", printable(name)));
}

}  // namespace

Result<RunGroup> find_group(const sys::HttpTarget& server, const std::string& text) {
  const Json workloads = TRY(get_json(server, "/api/corral/v1/workloads?members=true"));
  const Json plans = TRY(get_json(server, "/api/corral/v1/plans"));
  // The server knows of a plan the name of its file, and an id that tells which file it is.
  const std::string file = std::filesystem::path(text).filename();
  const std::string id_here = plan::plan_id(sys::host_name(), text);
  std::vector<const Json*> of_workloads, of_plans;
  for (const Json& one : items(workloads, "workloads"))
    if (one.get_string("name") == text || has_id(one, text)) of_workloads.push_back(&one);
  for (const Json& one : items(plans, "plans"))
    if (one.get_string("file") == file || has_id(one, text)) of_plans.push_back(&one);
  const auto here =
      std::ranges::find(of_plans, id_here, [](const Json* plan) { return plan->get_string("id"); });
  if (here != of_plans.end()) of_plans = {*here};
  if (of_workloads.size() + of_plans.size() > 1) {
    return fail(Code::kInvalidArgument,
                fmt::format("{} workloads and {} plans are called '{}': give an id, as `corral ls "
                            "workloads --format json` and `corral ls plans` show it",
                            of_workloads.size(), of_plans.size(), printable(text)));
  }
  if (!of_workloads.empty()) return group_of_workload(*of_workloads.front());
  if (!of_plans.empty()) return group_of_plan(server, *of_plans.front());
  return find_experiment(server, text);
}

}  // namespace corral::cli
