// import_database: copies an MLflow or radT database into a store.
//
// The order is experiments, runs in small batches with their points, the registry, logged models,
// traces, spans; then everything is counted on both sides. Stored rows stay: an import that was
// killed resumes, and a repeated one adds only what is new in the source. Runs on the caller's
// thread with one more that stores. The caller holds the store's lock.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "compat/mlflow/import/source.h"
#include "compat/mlflow/import/tables.h"
#include "core/result.h"
#include "store/artifacts/artifact_store.h"
#include "store/maintain/watch.h"
#include "store/reader.h"
#include "store/store.h"

namespace corral::store::importing {

struct ImportOptions {
  // Reads the store, to count all that the import has written.
  Access access;
  // Receives the artifacts; nullptr: they stay where they are, and runs say so.
  artifacts::ArtifactStore* artifacts = nullptr;
  // The --artifacts-destination of the source's server, for `mlflow-artifacts:/`.
  std::string artifacts_root{};
};

struct ImportReport {
  std::vector<Count> counts;  // one per kind that the source has
  std::int64_t new_points = 0;
  std::int64_t files = 0, bytes = 0;  // artifacts that were copied
  std::int64_t uncopied = 0;          // locations whose artifacts were to be copied and were not
  std::vector<std::string> notes;     // differences from the source, with reasons
  [[nodiscard]] bool complete() const;
};

// kUnavailable: stopped by `watch`. Other errors come from the source or the store. Rows that were
// stored before an error stay.
Result<ImportReport> import_database(Source& source, Store& store, const ImportOptions& options,
                                     const maintain::Watch& watch);

}  // namespace corral::store::importing
