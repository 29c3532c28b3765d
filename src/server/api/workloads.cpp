// Workloads, on demand with their runs and the resources that these shared.
#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <unordered_map>

#include "analyze/sharing.h"
#include "core/json.h"
#include "core/text.h"
#include "server/api/handlers.h"
#include "server/api/write.h"

namespace corral::server::api {
namespace {

using store::page::Neighbours;
using store::page::SharingRun;
using store::page::tag_of;

struct Members {
  std::unordered_map<WorkloadId, std::vector<SharingRun>> runs;
  std::vector<SharingRun> all;  // also of other experiments
  std::map<ExperimentId, std::string> experiments;
};

Result<Members> read_members(const store::Reader& store, std::optional<ExperimentId> experiment) {
  Members members;
  for (const store::Experiment& one : TRY(store.experiments()))
    members.experiments.emplace(one.id, one.name);
  const auto read = [&](store::Reading& reading) -> Result<> {
    members.all = TRY(store::page::runs_of_experiment(reading, experiment));
    for (const SharingRun& run : members.all) members.runs[run.workload].push_back(run);
    if (!experiment) return {};
    auto beside = TRY(store::page::runs_beside_experiment(reading, *experiment));
    std::ranges::move(beside, std::back_inserter(members.all));
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
    write_text(json, name, tag_of(run, key));
  const std::string_view devices = tag_of(run, "corral.devices");
  write_json_text(json, "devices", devices.empty() ? "[]" : devices);
  json.member("host", run.host);
  write_time(json, "start_ns", run.start);
  write_time(json, "end_ns",
             run.status == store::RunStatus::kRunning ? std::nullopt : std::optional(run.end));
  json.end_object();
}

// The runs that met one of the first `own` runs there.
std::set<std::size_t> who_met(const analyze::SharedPlace& place, std::size_t own) {
  std::set<std::size_t> met;
  for (const analyze::Overlap& overlap : place.overlaps)
    if (overlap.runs.front() < own) met.insert(overlap.runs.begin(), overlap.runs.end());
  return met;
}

void write_other(JsonWriter& json, const SharingRun& run) {
  json.begin_object().member("id", run.id.hex()).member("name", run.name);
  write_text(json, "letter", tag_of(run, "corral.letter"));
  json.member("workload_id", run.workload.hex());
  write_text(json, "workload", run.workload_name);
  json.end_object();
}

// Places where the workload's runs met each other or others, as the page's lanes tell it.
void write_shared(JsonWriter& json, std::vector<SharingRun> runs, std::vector<SharingRun> others) {
  const std::size_t own = runs.size();
  std::ranges::move(others, std::back_inserter(runs));
  const analyze::Sharing sharing = analyze::find_sharing(runs, own);
  json.key("shared").begin_array();
  for (const analyze::SharedPlace& place : sharing.places) {
    const std::set<std::size_t> met = who_met(place, own);
    if (met.empty()) continue;
    json.begin_object()
        .member("kind", analyze::place_kind_name(place.kind))
        .member("name", place.name);
    write_text(json, "device", place.device);
    json.member("host", place.host).member("shared_s", seconds(place.shared));
    json.key("runs").begin_array();
    for (const std::size_t run : met)
      if (run < own) json.value(runs[run].id.hex());
    json.end_array().key("others").begin_array();
    for (const std::size_t run : met)
      if (run >= own) write_other(json, runs[run]);
    json.end_array().end_object();
  }
  json.end_array();
}

void write_members(JsonWriter& json, const store::Workload& workload, const Members& members,
                   const Neighbours& neighbours) {
  const auto experiment = members.experiments.find(workload.experiment);
  write_text(json, "experiment", experiment != members.experiments.end() ? experiment->second : "");
  static const std::vector<SharingRun> none;
  const auto found = members.runs.find(workload.id);
  const std::vector<SharingRun>& runs = found != members.runs.end() ? found->second : none;
  write_array(json, "members", runs, write_member);
  write_shared(json, runs, neighbours.of(workload.id, runs));
}

std::string workloads_json(const std::vector<store::Workload>& workloads,
                           const std::optional<Members>& members) {
  std::string body;
  JsonWriter json(body);
  static const std::vector<SharingRun> none;
  const Neighbours neighbours(members ? members->all : none);
  json.begin_object().key("workloads").begin_array();
  for (const store::Workload& workload : workloads) {
    json.begin_object().member("id", workload.id.hex());
    write_text(json, "name", workload.name);
    json.member("experiment_id", std::to_string(workload.experiment.value));
    write_time(json, "created_ns", workload.created);
    write_array(json, "runs", workload.runs,
                [](JsonWriter& out, const RunId& run) { out.value(run.hex()); });
    if (members) write_members(json, workload, *members, neighbours);
    json.end_object();
  }
  json.end_array().end_object();
  return body;
}

}  // namespace

Answer workloads(const Request& request, Context& context) {
  std::optional<ExperimentId> experiment;
  if (const auto text = request.query_value("experiment"); text && !text->empty()) {
    const auto id = parse_int(*text);
    if (!id) return bad_query(request, "experiment", "an experiment's id");
    experiment = ExperimentId{*id};
  }
  const std::string_view wanted = request.query_value("members").value_or("false");
  if (wanted != "true" && wanted != "false") return bad_query(request, "members", "true or false");
  const auto found = TRY(context.reader.workloads(experiment));
  std::optional<Members> members;
  if (wanted == "true") members = TRY(read_members(context.reader, experiment));
  return json_response(workloads_json(found, members));
}

}  // namespace corral::server::api
