#include "compat/mlflow/api/models_json.h"

#include <fmt/core.h>

#include <array>

#include "compat/mlflow/wire/names.h"
#include "core/text.h"

namespace corral::server::mlflow {
namespace {

using store::sql::Connection;
using tracking::VersionKey;

constexpr std::size_t kRegistryTagLength = 100'000;
constexpr std::array<std::string_view, 4> kStages = {"None", "Staging", "Production", "Archived"};
// By the numbers of the enums.
constexpr std::array<std::string_view, 4> kVersionStatuses = {
    "PENDING_REGISTRATION", "PENDING_REGISTRATION", "FAILED_REGISTRATION", "READY"};
constexpr std::array<std::string_view, 4> kModelStatuses = {
    "LOGGED_MODEL_STATUS_UNSPECIFIED", "LOGGED_MODEL_PENDING", "LOGGED_MODEL_READY",
    "LOGGED_MODEL_UPLOAD_FAILED"};

void write_unless_empty(JsonWriter& json, std::string_view name, const std::string& text) {
  if (!text.empty()) json.member(name, text);
}

void write_metric(JsonWriter& json, const tracking::ModelMetric& metric) {
  json.begin_object().member("key", metric.key).member("value", metric.value);
  write_ms(json, "timestamp", metric.time);
  json.member("step", metric.step);
  write_unless_empty(json, "dataset_name", metric.dataset_name);
  write_unless_empty(json, "dataset_digest", metric.dataset_digest);
  json.member("model_id", metric.model_id).member("run_id", metric.run_id).end_object();
}

tl::unexpected<ApiError> no_registered_model(std::string_view name) {
  return refuse(ErrorCode::kResourceDoesNotExist,
                fmt::format("Registered Model with name={} not found", name));
}
tl::unexpected<ApiError> no_model_version(const VersionKey& key) {
  return refuse(
      ErrorCode::kResourceDoesNotExist,
      fmt::format("Model Version (name={}, version={}) not found", key.model, key.version));
}

}  // namespace

void write_registered_model(JsonWriter& json, const tracking::RegisteredModelRow& model) {
  json.begin_object().member("name", model.name);
  write_ms(json, "creation_timestamp", model.created);
  write_ms(json, "last_updated_timestamp", model.updated);
  write_unless_empty(json, "description", model.description);
  if (!model.latest.empty()) {
    json.key("latest_versions").begin_array();
    for (const auto& version : model.latest) write_model_version(json, version);
    json.end_array();
  }
  write_tags(json, "tags", model.tags);
  if (!model.aliases.empty()) {
    json.key("aliases").begin_array();
    for (const auto& alias : model.aliases) {
      json.begin_object().member("alias", alias.name);
      json.member("version", std::to_string(alias.version)).end_object();
    }
    json.end_array();
  }
  json.end_object();
}

void write_model_version(JsonWriter& json, const tracking::ModelVersionRow& version) {
  json.begin_object().member("name", version.key.model);
  json.member("version", std::to_string(version.key.version));
  write_ms(json, "creation_timestamp", version.created);
  write_ms(json, "last_updated_timestamp", version.updated);
  write_unless_empty(json, "user_id", version.user_id);
  json.member("current_stage", version.stage);
  if (version.description) json.member("description", *version.description);
  json.member("source", version.source).member("run_id", version.run_id);
  json.member("status", kVersionStatuses.at(static_cast<std::size_t>(version.status)));
  write_unless_empty(json, "status_message", version.status_message);
  write_tags(json, "tags", version.tags);
  json.member("run_link", version.run_link);
  if (!version.aliases.empty()) {
    json.key("aliases").begin_array();
    for (const std::string& alias : version.aliases) json.value(alias);
    json.end_array();
  }
  json.end_object();
}

void write_logged_model(JsonWriter& json, const tracking::LoggedModelRow& model) {
  json.begin_object().key("info").begin_object();
  json.member("model_id", model.id);
  json.member("experiment_id", std::to_string(model.experiment.value));
  json.member("name", model.name);
  write_ms(json, "creation_timestamp_ms", model.created);
  write_ms(json, "last_updated_timestamp_ms", model.updated);
  json.member("artifact_uri", model.artifact_uri);
  json.member("status", kModelStatuses.at(static_cast<std::size_t>(model.status)));
  write_unless_empty(json, "status_message", model.status_message);
  json.member("model_type", model.model_type).member("source_run_id", model.run_id);
  write_tags(json, "tags", model.tags);
  json.end_object().key("data").begin_object();
  write_tags(json, "params", model.params);
  if (!model.metrics.empty()) {
    json.key("metrics").begin_array();
    for (const auto& metric : model.metrics) write_metric(json, metric);
    json.end_array();
  }
  json.end_object().end_object();
}

std::string registered_model_answer(const tracking::RegisteredModelRow& model) {
  return object_with("registered_model",
                     [&](JsonWriter& json) { write_registered_model(json, model); });
}
std::string model_version_answer(const tracking::ModelVersionRow& version) {
  return object_with("model_version",
                     [&](JsonWriter& json) { write_model_version(json, version); });
}
std::string logged_model_answer(const tracking::LoggedModelRow& model) {
  return object_with("model", [&](JsonWriter& json) { write_logged_model(json, model); });
}

Answer<VersionKey> read_version_key(Message& in) {
  VersionKey key;
  key.model = in.need_text("name");
  const Json* value = in.find("version");
  if (value != nullptr && value->as_int() != nullptr) {
    key.version = *value->as_int();
    TRY_API(all_read(in));
    return key;
  }
  const std::string text = in.need_text("version");
  TRY_API(all_read(in));
  const auto number = parse_int(text);
  if (!number) {
    return invalid(fmt::format("Parameter 'version' must be an integer, got '{}'.", to_utf8(text)));
  }
  key.version = *number;
  return key;
}

Answer<> check_registry_tag(std::string_view key, std::string_view value) {
  TRY_API(corral::mlflow::check_key(key, "key"));
  if (corral::mlflow::code_points(value) <= kRegistryTagLength) return {};
  return invalid(
      fmt::format("'value' exceeds the maximum length of {} characters", kRegistryTagLength));
}

Answer<tracking::Tags> read_registry_tags(Message& in) {
  tracking::Tags tags;
  for (Message& item : in.messages("tags")) tags.emplace_back(item.text("key"), item.text("value"));
  TRY_API(all_read(in));
  for (const auto& [key, value] : tags) TRY_API(check_registry_tag(key, value));
  return tags;
}

bool is_prompt(const tracking::Tags& tags) {
  bool prompt = false;
  for (const auto& [key, value] : tags) {
    if (key == tracking::kPromptTag) prompt = equal_ignoring_case(value, "true");
  }
  return prompt;
}

Answer<tracking::RegisteredModelRow> find_registered_model(Connection& db,
                                                           const std::string& name) {
  auto model = TRY_API(tracking::registered_model(db, name));
  if (!model) return no_registered_model(name);
  return *std::move(model);
}

Answer<> check_registered_model(Connection& db, std::string_view name) {
  if (TRY_API(tracking::has_registered_model(db, name))) return {};
  return no_registered_model(name);
}

Answer<tracking::ModelVersionRow> find_model_version(Connection& db, const VersionKey& key) {
  auto version = TRY_API(tracking::model_version(db, key));
  if (!version) return no_model_version(key);
  return *std::move(version);
}

Answer<> check_model_version(Connection& db, const VersionKey& key) {
  if (TRY_API(tracking::has_model_version(db, key))) return {};
  return no_model_version(key);
}

Answer<tracking::LoggedModelRow> find_logged_model(Connection& db, const std::string& id,
                                                   Deleted deleted) {
  auto model = TRY_API(tracking::logged_model(db, id));
  const bool found =
      model && (deleted == Deleted::kFound || model->lifecycle == tracking::Lifecycle::kActive);
  if (found) return *std::move(model);
  return refuse(ErrorCode::kResourceDoesNotExist,
                fmt::format("Logged model with ID '{}' not found.", to_utf8(id)));
}

Answer<std::string> canonical_stage(std::string_view stage) {
  for (const std::string_view known : kStages) {
    if (equal_ignoring_case(stage, known)) return std::string(known);
  }
  return invalid(
      fmt::format("Invalid Model Version stage: {}. Value must be one of None, Staging, "
                  "Production, Archived.",
                  to_utf8(stage)));
}

}  // namespace corral::server::mlflow
