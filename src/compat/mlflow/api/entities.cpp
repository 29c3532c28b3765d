#include "compat/mlflow/api/entities.h"

#include <fmt/core.h>

#include <array>
#include <unordered_set>

#include "compat/mlflow/wire/names.h"
#include "core/text.h"

namespace corral::server::mlflow {
namespace {

constexpr std::array<std::string_view, 6> kStatuses = {"",         "RUNNING", "SCHEDULED",
                                                       "FINISHED", "FAILED",  "KILLED"};

std::string_view stage_of(tracking::Lifecycle lifecycle) {
  return lifecycle == tracking::Lifecycle::kActive ? "active" : "deleted";
}

void write_input(JsonWriter& json, const tracking::RunInput& input) {
  json.begin_object();
  write_tags(json, "tags", input.tags);
  json.key("dataset").begin_object();
  json.member("name", input.name).member("digest", input.digest);
  json.member("source_type", input.source_type).member("source", input.source);
  if (!input.schema.empty()) json.member("schema", input.schema);
  if (!input.profile.empty()) json.member("profile", input.profile);
  json.end_object().end_object();
}

}  // namespace

Answer<ExperimentId> parse_experiment_id(std::string_view text) {
  const auto id = parse_int(text);
  if (id) return ExperimentId{*id};
  return invalid(fmt::format("Invalid experiment ID '{}'. Experiment ID must be a valid integer.",
                             to_utf8(text)));
}

Answer<tracking::ExperimentRow> find_experiment(store::sql::Connection& db, std::string_view id) {
  const ExperimentId number = TRY_API(parse_experiment_id(id));
  auto experiment = TRY_API(tracking::experiment(db, number));
  if (experiment) return *std::move(experiment);
  return refuse(ErrorCode::kResourceDoesNotExist,
                fmt::format("No Experiment with id={} exists", number.value));
}

Answer<> check_active(const tracking::ExperimentRow& experiment) {
  if (experiment.lifecycle == tracking::Lifecycle::kActive) return {};
  return invalid(
      fmt::format("The experiment {} must be in the 'active' state. Current state is deleted.",
                  experiment.id.value));
}

Answer<tracking::ExperimentRow> hold_active_experiment(store::sql::Connection& db,
                                                       std::string_view id) {
  const ExperimentId number = TRY_API(parse_experiment_id(id));
  TRY_API(tracking::hold_experiment(db, number));
  auto experiment = TRY_API(find_experiment(db, id));
  TRY_API(check_active(experiment));
  return experiment;
}

std::string run_id_of(Message& in) {
  std::string id = in.text("run_id");
  if (id.empty()) id = in.text("run_uuid");
  if (id.empty()) in.missing("run_id");
  return id;
}

namespace {

tl::unexpected<ApiError> no_run(std::string_view id) {
  return refuse(ErrorCode::kResourceDoesNotExist,
                fmt::format("Run with id={} not found", to_utf8(id)));
}

}  // namespace

Answer<tracking::RunRow> find_run(store::sql::Connection& db, std::string_view id) {
  const auto parsed = RunId::parse(id);
  if (!parsed) return no_run(id);
  auto run = TRY_API(tracking::run(db, *parsed));
  if (!run) return no_run(id);
  return *std::move(run);
}

Answer<tracking::RunRow> find_active_run(store::sql::Connection& db, std::string_view id,
                                         Lock lock) {
  const auto parsed = RunId::parse(id);
  if (!parsed) return no_run(id);
  auto run =
      TRY_API(lock == Lock::kRow ? tracking::lock_run(db, *parsed) : tracking::run(db, *parsed));
  if (!run) return no_run(id);
  if (run->lifecycle == tracking::Lifecycle::kActive) return *std::move(run);
  return invalid(fmt::format("The run {} must be in the 'active' state. Current state is deleted.",
                             run->id.hex()));
}

Answer<tracking::Tags> read_tags(Message& in, std::string_view name, std::size_t length,
                                 ErrorCode twice) {
  tracking::Tags tags;
  std::unordered_set<std::string> seen;
  for (Message& item : in.messages(name)) {
    const std::string key = item.text("key");
    const auto value = item.maybe_text("value");
    TRY_API(all_read(in));
    TRY_API(corral::mlflow::check_key(key, "key"));
    if (!seen.insert(key).second)
      return refuse(twice, fmt::format("The tag '{}' is given twice.", key));
    tags.emplace_back(key, corral::mlflow::cut(value.value_or(""), length));
  }
  TRY_API(all_read(in));
  return tags;
}

void write_ms(JsonWriter& json, std::string_view name, UtcTime time) {
  json.member(name, std::chrono::floor<std::chrono::milliseconds>(time).time_since_epoch().count());
}

void write_unless_empty(JsonWriter& json, std::string_view name, const std::string& text) {
  if (!text.empty()) json.member(name, text);
}

void write_tags(JsonWriter& json, std::string_view name, const tracking::Tags& tags) {
  if (tags.empty()) return;
  json.key(name).begin_array();
  for (const auto& [key, value] : tags)
    json.begin_object().member("key", key).member("value", value).end_object();
  json.end_array();
}

void write_experiment(JsonWriter& json, const tracking::ExperimentRow& experiment) {
  json.begin_object().member("experiment_id", std::to_string(experiment.id.value));
  json.member("name", experiment.name);
  json.member("artifact_location", experiment.artifact_location);
  json.member("lifecycle_stage", stage_of(experiment.lifecycle));
  write_ms(json, "last_update_time", experiment.updated);
  write_ms(json, "creation_time", experiment.created);
  write_tags(json, "tags", experiment.tags);
  json.end_object();
}

void write_run_info(JsonWriter& json, const tracking::RunRow& run) {
  const std::string id = run.id.hex();
  json.begin_object().member("run_id", id).member("run_uuid", id);
  json.member("run_name", run.name);
  json.member("experiment_id", std::to_string(run.experiment.value));
  json.member("user_id", run.user_id);
  json.member("status", kStatuses.at(static_cast<std::size_t>(run.status)));
  write_ms(json, "start_time", run.start);
  if (run.end) write_ms(json, "end_time", *run.end);
  json.member("artifact_uri", run.artifact_uri);
  json.member("lifecycle_stage", stage_of(run.lifecycle));
  json.end_object();
}

void write_run(JsonWriter& json, const tracking::RunRow& run, const tracking::RunDetails& details,
               const store::sql::RunMetrics& metrics) {
  json.begin_object().key("info");
  write_run_info(json, run);
  json.key("data").begin_object();
  if (!metrics->empty()) {
    json.key("metrics").begin_array();
    for (const auto& metric : *metrics) {
      json.begin_object().member("key", metric.key).member("value", metric.value);
      write_ms(json, "timestamp", metric.time);
      json.member("step", metric.step).end_object();
    }
    json.end_array();
  }
  write_tags(json, "params", details.params);
  write_tags(json, "tags", details.tags);
  json.end_object();
  json.key("inputs").begin_object();
  if (!details.inputs.empty()) {
    json.key("dataset_inputs").begin_array();
    for (const auto& input : details.inputs) write_input(json, input);
    json.end_array();
  }
  if (!details.model_inputs.empty()) {
    json.key("model_inputs").begin_array();
    for (const auto& model : details.model_inputs)
      json.begin_object().member("model_id", model.model).end_object();
    json.end_array();
  }
  json.end_object().key("outputs").begin_object();
  if (!details.model_outputs.empty()) {
    json.key("model_outputs").begin_array();
    for (const auto& model : details.model_outputs)
      json.begin_object().member("model_id", model.model).member("step", model.step).end_object();
    json.end_array();
  }
  json.end_object().end_object();
}

Body empty_answer() { return std::string("{}"); }

}  // namespace corral::server::mlflow
