// Logged models of MLflow 3: a model that a run made, with files, params, tags and metrics.
//
// logged_models.cpp holds the handlers that handlers.h declares; the function below is for other
// files that refer to a logged model. It runs in the caller's transaction; any thread.
#pragma once

#include <cstdint>
#include <string>

#include "compat/mlflow/api/entities.h"
#include "compat/mlflow/tables/logged_models.h"

namespace corral::server::mlflow {

// `kFound` also finds models that were deleted.
enum class Deleted : std::uint8_t { kHidden, kFound };
// RESOURCE_DOES_NOT_EXIST (404) unless the model exists.
Answer<tracking::LoggedModelRow> find_logged_model(store::sql::Connection& db,
                                                   const std::string& id,
                                                   Deleted deleted = Deleted::kHidden);

}  // namespace corral::server::mlflow
