// Copies the artifacts of an imported database into the store's own location.
//
// Runs, logged models, model versions and traces get the new locations. Files that already exist
// with the same size are not copied again.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "compat/mlflow/import/runs.h"
#include "compat/mlflow/import/source.h"
#include "compat/mlflow/import/tables.h"
#include "store/artifacts/artifact_store.h"
#include "store/maintain/watch.h"
#include "store/store.h"

namespace corral::store::importing {

struct Imported {
  Source& source;
  Store& store;
  const Experiments& experiments;
  std::span<const SourceRun* const> runs;
};
struct ArtifactCopy {
  artifacts::ArtifactStore& to;
  std::string root;  // the target of `mlflow-artifacts:/`; empty: such artifacts cannot be copied
};
// Locations that were not copied for the same reason.
struct LeftOut {
  std::int64_t count = 0;
  std::vector<std::string> first;  // a few of them
};
struct CopiedFiles {
  std::int64_t files = 0, bytes = 0;
  std::map<std::string, LeftOut> left_out;  // by reason
};
Result<CopiedFiles> copy_artifacts(const Imported& imported, const ArtifactCopy& copy,
                                   const maintain::Watch& watch);

}  // namespace corral::store::importing
