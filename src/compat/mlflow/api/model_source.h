// The origin of a model version: `source` of model-versions/create, checked and resolved.
//
// `models:/<id of a logged model>`, `models:/<name>/<version, stage or "latest">`,
// `models:/<name>@<alias>` and `runs:/<run>/<path>` are resolved into the place where the files
// are, and into the run and the logged model that they belong to. Any other URI is taken as it is
// unless it climbs: its path must be absolute and without "..", however often it is encoded. Paths
// of the server's own file system are taken only within the artifacts of the run or logged model
// that the request names, because a client that may read a model version may read its files.
#pragma once

#include <string>

#include "compat/mlflow/api/entities.h"

namespace corral::server::mlflow {

struct ModelSource {
  std::string source;
  std::string storage_location;  // empty: at `source`
  std::string run_id, model_id;
};

// `asked` without a storage location.
Answer<ModelSource> resolve_source(store::sql::Connection& db, ModelSource asked);

}  // namespace corral::server::mlflow
