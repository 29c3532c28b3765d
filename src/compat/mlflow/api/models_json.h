// Registered models, model versions and logged models: reading their fields, writing their answers.
//
// Optional texts that are empty are left out, as MLflow's server does. Pure, any thread.
#pragma once

#include <string>
#include <string_view>

#include "compat/mlflow/api/entities.h"
#include "compat/mlflow/tables/logged_models.h"
#include "compat/mlflow/tables/registry.h"

namespace corral::server::mlflow {

void write_registered_model(JsonWriter& json, const tracking::RegisteredModelRow& model);
void write_model_version(JsonWriter& json, const tracking::ModelVersionRow& version);
void write_logged_model(JsonWriter& json, const tracking::LoggedModelRow& model);

// {"name": ...}: a whole answer.
std::string registered_model_answer(const tracking::RegisteredModelRow& model);
std::string model_version_answer(const tracking::ModelVersionRow& version);
std::string logged_model_answer(const tracking::LoggedModelRow& model);

// `name` and `version` of a request.
Answer<tracking::VersionKey> read_version_key(Message& in);
// Keys of tags and their values, which may be 100,000 characters long.
Answer<> check_registry_tag(std::string_view key, std::string_view value);
Answer<tracking::Tags> read_registry_tags(Message& in);
bool is_prompt(const tracking::Tags& tags);

// 404 unless it is there.
Answer<tracking::RegisteredModelRow> find_registered_model(store::sql::Connection& db,
                                                           const std::string& name);
Answer<> check_registered_model(store::sql::Connection& db, std::string_view name);
Answer<tracking::ModelVersionRow> find_model_version(store::sql::Connection& db,
                                                     const tracking::VersionKey& key);
Answer<> check_model_version(store::sql::Connection& db, const tracking::VersionKey& key);
enum class Deleted : std::uint8_t { kHidden, kFound };
Answer<tracking::LoggedModelRow> find_logged_model(store::sql::Connection& db,
                                                   const std::string& id,
                                                   Deleted deleted = Deleted::kHidden);
// "None", "Staging", "Production" or "Archived", whatever the case of the letters was.
Answer<std::string> canonical_stage(std::string_view stage);

}  // namespace corral::server::mlflow
