// Artifacts in a bucket of S3 or of anything that speaks its protocol.
//
// Key = prefix/path. A file that fits one part goes as one PUT; a longer one as a multipart upload
// whose parts are sent as they fill (one in memory while it is sent), tried again on their own, and
// aborted when the writer goes without commit. A reader asks once for size and ETag and reads
// ranges of just that version, going on where a broken connection stopped.
#pragma once

#include <memory>

#include "store/artifacts/artifact_store.h"
#include "store/artifacts/s3/settings.h"

namespace corral::store::artifacts {

// Makes no request: a bucket that is down now may be up when the first artifact comes.
std::unique_ptr<ArtifactStore> open_s3_store(S3Settings settings);

}  // namespace corral::store::artifacts
