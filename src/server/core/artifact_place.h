// Checks that the files that runs logged lie where this server looks for them.
//
// Servers that share a database must share a place for artifacts, too, but each is told its own
// (--artifacts). The first one marks its place by a file with a number that the database knows;
// another that does not find the mark in its own says so. Copied along with the files, the mark
// makes another place the place. Blocks; at the start of a server.
#pragma once

#include <optional>
#include <string>

#include "core/result.h"
#include "store/artifacts/artifact_store.h"
#include "store/reader.h"
#include "store/store.h"

namespace corral::server {

inline constexpr const char* kPlaceMark = ".corral-place";

// The place of the store's artifacts, as the server that marked it called it, if it is another than
// `artifacts`; marks that one when the store has none yet.
Result<std::optional<std::string>> other_artifact_place(store::Store& store,
                                                        const store::Reader& reader,
                                                        store::artifacts::ArtifactStore& artifacts);

// The same for databases that servers share, as words for the log; empty: nothing to say.
std::string check_artifact_place(store::Store& store, const store::Reader& reader,
                                 store::artifacts::ArtifactStore& artifacts);

}  // namespace corral::server
