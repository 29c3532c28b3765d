// import_database: an MLflow or radT database into a store.
//
// Experiments first, then runs a few at a time, each with its points, then the registry, logged
// models, traces and spans; last everything is counted on both sides. What is stored already stays:
// an import that was killed goes on where it was, and one that is repeated adds nothing but what is
// new in the source. One thread (and one that stores). The caller holds the store.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "compat/mlflow/import/count.h"
#include "compat/mlflow/import/source.h"
#include "core/result.h"
#include "store/artifacts/artifact_store.h"
#include "store/maintain/watch.h"
#include "store/reader.h"
#include "store/store.h"

namespace corral::store::importing {

struct ImportOptions {
  // Of the store: all that the import has written is counted.
  Access access;
  // Where artifacts are copied to; nullptr: they stay where they are, and runs say so.
  artifacts::ArtifactStore* artifacts = nullptr;
  // What the source's server has for `mlflow-artifacts:/` (its --artifacts-destination).
  std::string artifacts_root{};
};

struct ImportReport {
  std::vector<Count> counts;  // of every kind that the source has
  std::int64_t new_points = 0;
  std::int64_t files = 0, bytes = 0;  // artifacts that were copied
  std::vector<std::string> notes;     // what is not as in the source, and why
  [[nodiscard]] bool complete() const;
};

// kUnavailable: stopped by `watch`. Other errors as the source or the store says; all that was done
// until then stays.
Result<ImportReport> import_database(Source& source, Store& store, const ImportOptions& options,
                                     const maintain::Watch& watch);

}  // namespace corral::store::importing
