// Workloads, on demand with their runs and who of them shared what.
#include <fmt/core.h>

#include <map>
#include <set>
#include <unordered_map>

#include "core/json.h"
#include "core/text.h"
#include "query/sharing.h"
#include "server/api/handlers.h"
#include "server/api/run_json.h"
#include "server/api/sharing_words.h"
#include "server/api/write.h"

namespace corral::server::api {
namespace {

using store::page::SharingRun;
using store::page::tag_of;

struct Members {
  std::unordered_map<WorkloadId, std::vector<SharingRun>> runs;
  std::map<ExperimentId, std::string> experiments;
};

Result<Members> read_members(store::Store& store, std::optional<ExperimentId> experiment) {
  Members members;
  for (const store::Experiment& one : TRY(store.experiments()))
    members.experiments.emplace(one.id, one.name);
  const auto read = [&](store::sql::Reading& reading) -> Result<> {
    for (SharingRun& run : TRY(store::page::runs_of_experiment(reading.db, experiment)))
      members.runs[run.workload].push_back(std::move(run));
    return {};
  };
  TRY(store.inspect(read));
  return members;
}

void write_member(JsonWriter& json, const SharingRun& run) {
  json.begin_object().member("id", run.id.hex()).member("name", run.name);
  json.member("status", store::status_name(run.status));
  for (const auto& [name, key] :
       {std::pair("outcome", "corral.outcome"), std::pair("letter", "corral.letter"),
        std::pair("collocation", "corral.collocation"), std::pair("cpus", "corral.cpus")})
    write_optional_text(json, name, std::string(tag_of(run, key)));
  json.key("devices");
  const std::string devices(tag_of(run, "corral.devices"));
  write_json_text(json, devices.empty() ? "[]" : devices);
  json.member("host", run.host).key("start_ns");
  write_time(json, run.start);
  json.key("end_ns");
  write_time(json,
             run.status == store::RunStatus::kRunning ? std::nullopt : std::optional(run.end));
  json.end_object();
}

// Places where runs met, with all that met there.
void write_shared(JsonWriter& json, const std::vector<SharingRun>& runs) {
  const query::Sharing sharing = query::sharing_of(runs, runs.size());
  json.key("shared").begin_array();
  for (const query::SharedPlace& place : sharing.places) {
    std::set<std::size_t> met;
    for (const query::Overlap& overlap : place.overlaps)
      met.insert(overlap.runs.begin(), overlap.runs.end());
    if (met.empty()) continue;
    json.begin_object().member("kind", place_kind_name(place.kind)).member("name", place.name);
    write_optional_text(json, "device", place.device);
    json.member("host", place.host).member("shared_s", seconds(place.shared));
    json.key("runs").begin_array();
    for (const std::size_t run : met) json.value(runs[run].id.hex());
    json.end_array().end_object();
  }
  json.end_array();
}

void write_members(JsonWriter& json, const store::Workload& workload, const Members& members) {
  const auto experiment = members.experiments.find(workload.experiment);
  write_optional_text(json, "experiment",
                      experiment != members.experiments.end() ? experiment->second : "");
  static const std::vector<SharingRun> none;
  const auto found = members.runs.find(workload.id);
  const std::vector<SharingRun>& runs = found != members.runs.end() ? found->second : none;
  json.key("members").begin_array();
  for (const SharingRun& run : runs) write_member(json, run);
  json.end_array();
  write_shared(json, runs);
}

std::string workloads_json(const std::vector<store::Workload>& workloads,
                           const std::optional<Members>& members) {
  std::string body;
  JsonWriter json(body);
  json.begin_object().key("workloads").begin_array();
  for (const store::Workload& workload : workloads) {
    json.begin_object().member("id", workload.id.hex());
    write_optional_text(json, "name", workload.name);
    json.member("experiment_id", std::to_string(workload.experiment.value)).key("created_ns");
    write_time(json, workload.created);
    json.key("runs").begin_array();
    for (const RunId& run : workload.runs) json.value(run.hex());
    json.end_array();
    if (members) write_members(json, workload, *members);
    json.end_object();
  }
  json.end_array().end_object();
  return body;
}

}  // namespace

Response workloads(const Request& request, Context& context) {
  std::optional<ExperimentId> experiment;
  if (const auto text = request.query_value("experiment"); text && !text->empty()) {
    const auto id = parse_int(*text);
    if (!id) return bad_query("experiment", "an experiment's id", *text);
    experiment = ExperimentId{*id};
  }
  const std::string_view wanted = request.query_value("members").value_or("false");
  if (wanted != "true" && wanted != "false") return bad_query("members", "true or false", wanted);
  const auto found = context.store.workloads(experiment);
  if (!found) return error_response(found.error());
  std::optional<Members> members;
  if (wanted == "true") {
    auto read = read_members(context.store, experiment);
    if (!read) return error_response(read.error());
    members = *std::move(read);
  }
  return json_response(workloads_json(*found, members));
}

}  // namespace corral::server::api
