// Artifacts that are more than files: radT's span batches, and the spans of traces that clients of
// MLflow before 3.4 send as a file, become phases as they arrive.
//
// To be called when the artifact is stored, and before its PUT is answered: the file stays what it
// is, and can be downloaded again. Any thread.
#pragma once

#include <string_view>

#include "core/ids.h"
#include "core/result.h"
#include "server/core/context.h"

namespace corral::server::mlflow {

// `path` is the store's: ".../<run>/artifacts/radt-trace/spans-000001.jsonl.gz" and
// ".../traces/<id>/artifacts/traces.json" are looked into, anything else left alone. An error: the
// phases could not be stored; whoever sent the file is to send it again. What is damaged in it is
// left aside, and so is a run that is not there.
Result<> on_artifact(Context& context, store::artifacts::ArtifactStore& store,
                     std::string_view path);

}  // namespace corral::server::mlflow
