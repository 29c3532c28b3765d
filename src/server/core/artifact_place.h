// Checks that the files that runs logged lie where this server looks for them.
//
// Servers that share a database must share a place for artifacts, too, but each gets its own
// setting (--artifacts). The first server marks its place by a file with a number that the database
// holds; a server that does not find the mark in its place reports that. If the mark is copied with
// the files, the copy is a valid place. Blocks; called at the start of a server.
#pragma once

#include <optional>
#include <string>

#include "core/result.h"
#include "store/artifacts/artifact_store.h"
#include "store/reader.h"
#include "store/store.h"

namespace corral::server {

inline constexpr const char* kPlaceMark = ".corral-place";

// Returns the place of the store's artifacts, under the name that the marking server gave it, if it
// is not `artifacts`. Marks `artifacts` if the store has no marked place yet.
Result<std::optional<std::string>> other_artifact_place(store::Store& store,
                                                        const store::Reader& reader,
                                                        store::artifacts::ArtifactStore& artifacts);

// The same for databases that servers share, as a message for the log; empty: the place is right.
std::string check_artifact_place(store::Store& store, const store::Reader& reader,
                                 store::artifacts::ArtifactStore& artifacts);

}  // namespace corral::server
