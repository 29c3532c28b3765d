// Artifacts that are more than files: radT's span batches, and the spans of traces that clients of
// MLflow before 3.4 send as a file, become phases as they arrive.
//
// Call it after the artifact is stored and before its PUT is answered. The file itself stays as it
// is and can be downloaded. Any thread.
#pragma once

#include <string_view>

#include "core/ids.h"
#include "core/result.h"
#include "server/core/context.h"

namespace corral::server::mlflow {

// Reads ".../<run>/artifacts/radt-trace/spans-000001.jsonl.gz" and
// ".../traces/<id>/artifacts/traces.json"; ignores any other `path` of the store. On an error the
// phases were not stored, and the client must send the file again. Damaged records and unknown runs
// are skipped.
Result<> on_artifact(Context& context, store::artifacts::ArtifactStore& store,
                     std::string_view path);

}  // namespace corral::server::mlflow
