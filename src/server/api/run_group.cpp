#include "server/api/run_group.h"

#include <fmt/core.h>

#include <algorithm>

#include "analyze/compare/set_up.h"
#include "core/text.h"
#include "server/api/write.h"
#include "store/tables/plans.h"

namespace corral::server::api {

using store::page::SharingRun;

Parsed<RunGroup> requested_group(const Request& request) {
  if (const std::string id(request.param("plan")); !id.empty())
    return RunGroup{"plan", id, [id](store::Reading& reading) {
                      return store::page::runs_of_plan(reading, id);
                    }};
  if (const std::string_view text = request.param("workload"); !text.empty()) {
    const auto id = TRY_PARSED(about("workload", WorkloadId::parse(text)));
    return RunGroup{"workload", id.hex(), [id](store::Reading& reading) {
                      return store::page::runs_of_workload(reading, id);
                    }};
  }
  const auto number = parse_int(request.param("experiment"));
  if (!number)
    return fail_about("experiment", Code::kInvalidArgument, "an experiment's id is a number");
  return RunGroup{"experiment", std::to_string(*number),
                  [id = ExperimentId{*number}](store::Reading& reading) {
                    return store::page::runs_of_experiment(reading, id);
                  }};
}

Result<std::vector<SharingRun>> read_run_group(const store::Reader& store, const RunGroup& group) {
  std::vector<SharingRun> runs;
  bool known = false;
  const auto read = [&](store::Reading& reading) -> Result<> {
    runs = TRY(group.read(reading));
    known = !runs.empty() ||
            (group.kind == "plan" && TRY(store::page::plan_document(reading, group.id)));
    return {};
  };
  TRY(store.inspect(read));
  // Without a run that is seen, the whole plan may be hidden.
  if (known && runs.empty() && !check_known_plan(store, group.id)) known = false;
  if (!known)
    return fail(Code::kNotFound, fmt::format("no {} {}", group.kind, printable(group.id)));
  return runs;
}

std::string state_of(const std::vector<SharingRun>& runs) {
  std::size_t hash = 0;
  const auto add = [&](const std::string& text) {
    hash = std::hash<std::string>{}(fmt::format("{} {}", hash, text));
  };
  for (const SharingRun& run : runs) {
    add(run.id.hex() + std::string(store::status_name(run.status)));
    add(run.name);
    add(std::to_string(ns_of(run.end)));
    for (const auto& [key, value] : run.tags) {
      add(key);
      add(value);
    }
  }
  return fmt::format("{} {:x} ", runs.size(), hash);
}

bool is_run_field(std::string_view field) {
  for (const std::string_view prefix : {"params.", "tags."})
    if (field.starts_with(prefix)) return field.size() > prefix.size();
  return field == "name" || field == "workload" || field == "experiment" || field == "host" ||
         field == "commit";
}

std::string field_of_run(const store::Run& run, std::string_view field) {
  const auto find = [](const auto& facts, std::string_view key) -> std::string {
    const auto found = std::ranges::find(facts, key, [](const auto& fact) { return fact.first; });
    return found != facts.end() ? found->second : "";
  };
  if (field.starts_with("params.")) return find(run.params, field.substr(7));
  if (field.starts_with("tags.")) return find(run.tags, field.substr(5));
  if (field == "name") return run.name;
  if (field == "workload") return run.workload_name;
  if (field == "experiment") return run.experiment_name;
  if (field == "host") return run.host;
  return analyze::fact_text(run, "git_commit");
}

}  // namespace corral::server::api
