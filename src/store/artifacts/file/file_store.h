// Artifacts in a directory.
//
// Every access walks from the root, one openat() per segment with O_NOFOLLOW: a symbolic link is
// never followed, wherever it points and whenever it was put there (kPermission), and links are not
// listed. A file is written to `.corral-uploads` in the root, fsynced and renamed to its place; its
// directories are made at that moment. A temporary is locked (flock) as long as it is written:
// opening the store removes those without a lock, which a killed process left. Files below a run's
// `corral/code/` are links of one content each (kept_once.h).
#pragma once

#include <filesystem>
#include <memory>

#include "store/artifacts/artifact_store.h"

namespace corral::store::artifacts {

// Makes the directory when it is missing (0700: what runs log is this user's).
Result<std::unique_ptr<ArtifactStore>> open_file_store(const std::filesystem::path& root);

// For files that are only read (open_artifact_source()).
Result<std::unique_ptr<ArtifactStore>> open_file_source(const std::filesystem::path& root);

}  // namespace corral::store::artifacts
