// Opens the artifact store that a location names.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "core/result.h"
#include "store/artifacts/artifact_store.h"

namespace corral::store::artifacts {

// A directory (made when missing; also as "file:///...") or "s3://bucket/prefix", whose endpoint,
// region and credentials come from the environment (s3/settings.h).
// `scratch`: a directory for what waits to be sent to a bucket.
Result<std::unique_ptr<ArtifactStore>> open_artifact_store(std::string_view location,
                                                           const std::string& scratch = "/var/tmp");
// The same of files that belong to somebody else: nothing is made, changed or removed there, and
// create() and remove() are refused (kPermission). kNotFound for a directory that is not there.
Result<std::unique_ptr<ArtifactStore>> open_artifact_source(std::string_view location);

}  // namespace corral::store::artifacts
