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
#include "store/search/run_summaries.h"

namespace corral::server::api {
namespace {

void write_experiment(JsonWriter& json, const store::Experiment& experiment) {
  json.begin_object().member("id", std::to_string(experiment.id.value));
  json.member("name", experiment.name);
  write_time(json, "created_ns", experiment.created);
  json.member("runs", experiment.runs).member("running", experiment.running).end_object();
}

}  // namespace

Answer experiments(const Request&, Context& context) {
  return array_response("experiments", TRY(context.reader.experiments()), write_experiment);
}

namespace {

using store::tracking::OverviewRun;
using store::tracking::OverviewWorkload;

void write_overview_run(JsonWriter& json, const OverviewRun& run, SummaryValue of) {
  const auto value = run.value ? summary_value(*run.value, of) : std::nullopt;
  json.begin_object().member("id", run.id.hex()).member("name", run.name);
  json.member("status", store::status_name(run.status)).member("model", run.model);
  write_optional(json, "value", value);
  write_optional(json, "duration_s", corral::mlflow::run_seconds(run.start, run.end));
  write_integer(json, "start_ns", run.start);
  json.end_object();
}

std::string find_unit(const std::vector<OverviewWorkload>& workloads) {
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
    write_text(json, "name", workload.name);
    json.member("collocation", workload.collocation).key("runs").begin_array();
    for (const OverviewRun& run : workload.runs) write_overview_run(json, run, of);
    json.end_array().end_object();
  }
  json.end_array();
  write_array(json, "collocations", collocations,
              [](JsonWriter& out, const std::string& name) { out.value(name); });
  json.member("unit", find_unit(workloads)).end_object();
  return body;
}

}  // namespace

Answer overview(const Request& request, Context& context) {
  const std::string metric(request.query_value("metric").value_or(""));
  const auto of = parse_summary_value(request.query_value("of").value_or("last"));
  if (!of || *of == SummaryValue::kCount) return bad_query(request, "of", "last, mean, min or max");
  const std::string_view name = request.param("experiment");
  const auto id = parse_int(name);
  const auto experiments = TRY(context.reader.experiments());
  const auto found = std::ranges::find_if(experiments, [&](const store::Experiment& experiment) {
    return id && experiment.id.value == *id;
  });
  if (found == experiments.end())
    return fail(Code::kNotFound, fmt::format("no experiment {}", to_utf8(name)));
  const auto workloads = TRY(in_snapshot(context.reader, [&](store::Reading& reading) {
    return store::tracking::overview(reading, found->id, metric);
  }));
  return json_response(overview_json(*found, workloads, *of));
}

}  // namespace corral::server::api
