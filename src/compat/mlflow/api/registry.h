// The registry of MLflow's interface: registered models, their versions, aliases and stages.
//
// registry.cpp holds the handlers that handlers.h declares; the functions below are for other files
// that refer to a version. They run in the caller's transaction or snapshot; any thread.
#pragma once

#include <string>
#include <string_view>

#include "compat/mlflow/api/entities.h"
#include "compat/mlflow/tables/registry.h"

namespace corral::server::mlflow {

// RESOURCE_DOES_NOT_EXIST (404) unless the model exists.
Answer<> check_registered_model(store::sql::Connection& db, std::string_view name);
// RESOURCE_DOES_NOT_EXIST (404) unless the version exists.
Answer<tracking::ModelVersionRow> find_model_version(store::sql::Connection& db,
                                                     const tracking::VersionKey& key);
// Returns "None", "Staging", "Production" or "Archived"; `stage` is compared without case.
Answer<std::string> canonical_stage(std::string_view stage);

}  // namespace corral::server::mlflow
