// RunGroup: the runs of a plan, workload or experiment, as a route names it.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "server/api/handlers.h"
#include "store/reader.h"
#include "store/tables/sharing.h"

namespace corral::server::api {

struct RunGroup {
  std::string kind, id;
  std::function<Result<std::vector<store::page::SharingRun>>(store::Reading&)> read;
};
// That of the parameter plan, workload or experiment.
Parsed<RunGroup> requested_group(const Request& request);
// kNotFound: no such runs; but a plan may have none yet.
Result<std::vector<store::page::SharingRun>> read_run_group(const store::Reader& store,
                                                            const RunGroup& group);
// A text that changes with the runs, their ends and their tags.
std::string state_of(const std::vector<store::page::SharingRun>& runs);

// The value of a run's field: "params.KEY", "tags.KEY", "name", "workload", "experiment", "host" or
// "commit"; empty: nothing.
inline constexpr std::string_view kRunFields =
    "params.KEY, tags.KEY, name, workload, experiment, host or commit";
bool is_run_field(std::string_view field);
std::string field_of_run(const store::Run& run, std::string_view field);

}  // namespace corral::server::api
