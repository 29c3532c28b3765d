// Experiments, and one at a glance: its workloads with their runs and one value of each.
#include <fmt/core.h>

#include <algorithm>
#include <set>

#include "compat/mlflow/wire/times.h"
#include "core/json.h"
#include "core/text.h"
#include "server/api/handlers.h"
#include "server/api/requests.h"
#include "server/api/write.h"
#include "store/search/overview.h"

namespace corral::server::api {
namespace {

void write_experiment(JsonWriter& json, const store::Experiment& experiment) {
  json.begin_object()
      .member("id", std::to_string(experiment.id.value))
      .member("name", experiment.name)
      .key("created_ns");
  write_time(json, experiment.created);
  json.member("runs", experiment.runs).member("running", experiment.running).end_object();
}

}  // namespace

Response experiments(const Request&, Context& context) {
  const auto found = context.reader.experiments();
  if (!found) return error_response(found.error());
  std::string body;
  JsonWriter json(body);
  json.begin_object().key("experiments").begin_array();
  for (const store::Experiment& experiment : *found) write_experiment(json, experiment);
  json.end_array().end_object();
  return json_response(std::move(body));
}

namespace {

using store::tracking::OverviewRun;
using store::tracking::OverviewWorkload;

void write_overview_run(JsonWriter& json, const OverviewRun& run, SummaryValue of) {
  const auto value = run.value ? value_of(*run.value, of) : std::nullopt;
  json.begin_object().member("id", run.id.hex()).member("name", run.name);
  json.member("status", store::status_name(run.status)).member("model", run.model).key("value");
  write_number(json, value);
  json.key("duration_s");
  write_number(json, corral::mlflow::run_seconds(run.start, run.end));
  json.key("start_ns");
  write_integer(json, run.start);
  json.end_object();
}

std::string unit_of(const std::vector<OverviewWorkload>& workloads) {
  for (const OverviewWorkload& workload : workloads) {
    for (const OverviewRun& run : workload.runs) {
      if (run.value) return run.value->unit;
    }
  }
  return "";
}

std::string overview_json(const store::Experiment& experiment,
                          const std::vector<OverviewWorkload>& workloads, SummaryValue of) {
  std::set<std::string> collocations;
  std::string body;
  JsonWriter json(body);
  json.begin_object().key("experiment");
  write_experiment(json, experiment);
  json.key("workloads").begin_array();
  for (const OverviewWorkload& workload : workloads) {
    collocations.insert(workload.collocation);
    json.begin_object().member("id", workload.id.hex());
    write_optional_text(json, "name", workload.name);
    json.member("collocation", workload.collocation).key("runs").begin_array();
    for (const OverviewRun& run : workload.runs) write_overview_run(json, run, of);
    json.end_array().end_object();
  }
  json.end_array().key("collocations").begin_array();
  for (const std::string& collocation : collocations) json.value(collocation);
  json.end_array().member("unit", unit_of(workloads)).end_object();
  return body;
}

}  // namespace

Response overview(const Request& request, Context& context) {
  const std::string_view name = request.param("experiment");
  const std::string metric(request.query_value("metric").value_or(""));
  const std::string_view of_name = request.query_value("of").value_or("last");
  const auto of = parse_summary_value(of_name);
  if (!of || *of == SummaryValue::kCount) return bad_query("of", "last, mean, min or max", of_name);
  const auto experiments = context.reader.experiments();
  if (!experiments) return error_response(experiments.error());
  const auto id = parse_int(name);
  const auto found = std::ranges::find_if(*experiments, [&](const store::Experiment& experiment) {
    return id && experiment.id.value == *id;
  });
  if (found == experiments->end())
    return error_response({Code::kNotFound, fmt::format("no experiment {}", to_utf8(name))});
  std::vector<OverviewWorkload> workloads;
  const auto read = context.reader.inspect([&](store::Reading& reading) -> Result<> {
    workloads = TRY(store::tracking::overview(reading, found->id, metric));
    return {};
  });
  if (!read) return error_response(read.error());
  return json_response(overview_json(*found, workloads, *of));
}

}  // namespace corral::server::api
