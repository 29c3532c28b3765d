#include "server/api/run_json.h"

#include <algorithm>

#include "compat/mlflow/wire/times.h"
#include "server/api/write.h"

namespace corral::server::api {
namespace {

void write_exit(JsonWriter& json, std::string_view name, std::optional<std::int32_t> value) {
  json.key(name);
  if (value) {
    json.value(*value);
  } else {
    json.null();
  }
}

void write_loss(JsonWriter& json, const query::Loss* loss) {
  json.key("loss");
  if (loss == nullptr) {
    json.null();
    return;
  }
  json.begin_object().member("metric", loss->metric).member("value", loss->value).key("step");
  if (loss->step) {
    json.value(*loss->step);
  } else {
    json.null();
  }
  json.end_object();
}

}  // namespace

const std::string* find_fact(const codec::Attributes& facts, std::string_view key) {
  const auto found =
      std::ranges::find_if(facts, [&](const auto& fact) { return fact.first == key; });
  return found != facts.end() ? &found->second : nullptr;
}

void write_optional_text(JsonWriter& json, std::string_view name, const std::string& text) {
  json.key(name);
  if (text.empty()) {
    json.null();
  } else {
    json.value(std::string_view(text));
  }
}

void write_run(JsonWriter& json, const store::Run& run, const query::Loss* loss) {
  json.member("id", run.id.hex()).member("name", run.name);
  json.member("experiment_id", std::to_string(run.experiment.value))
      .member("experiment", run.experiment_name);
  json.member("workload_id", run.workload.hex());
  write_optional_text(json, "workload", run.workload_name);
  json.member("status", store::status_name(run.status));
  const std::string* outcome = find_fact(run.tags, "corral.outcome");
  write_optional_text(json, "outcome", outcome != nullptr ? *outcome : "");
  json.key("start_ns");
  write_time(json, run.start);
  json.key("end_ns");
  write_time(json, run.end);
  json.key("duration_s");
  if (run.end_reason == codec::EndReason::kNotStarted) {
    json.null();
  } else {
    write_number(
        json, corral::mlflow::run_seconds(ns_of(run.start), ns_of(run.end.value_or(run.newest))));
  }
  write_exit(json, "exit_code", run.exit_code);
  write_exit(json, "exit_signal", run.exit_signal);
  json.member("host", run.host).key("command");
  const std::string* command = find_fact(run.info, "command");
  write_json_text(json, command != nullptr ? *command : "null");
  write_loss(json, loss);
}

void write_experiment(JsonWriter& json, const store::Experiment& experiment) {
  json.begin_object()
      .member("id", std::to_string(experiment.id.value))
      .member("name", experiment.name)
      .key("created_ns");
  write_time(json, experiment.created);
  json.member("runs", experiment.runs).member("running", experiment.running).end_object();
}

}  // namespace corral::server::api
