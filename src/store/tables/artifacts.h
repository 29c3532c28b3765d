// The places of a store's artifacts: the mark of the present one, and those that removals have
// left.
//
// Free functions over the caller's snapshot or transaction.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/result.h"
#include "store/model/transaction.h"

namespace corral::store::page {

// ---- the mark
// Servers that share a database keep their artifacts at one place. That place and the database bear
// the same random number; the database also keeps the place's name, for messages. Rows of `meta`.
struct ArtifactMark {
  bool shared = false;               // other servers may write to the database
  std::optional<std::int64_t> mark;  // nothing: no server has marked a place yet
  std::string place;                 // artifact place of the server that set the mark
};
Result<ArtifactMark> artifact_mark(Reading& reading);

// The store's mark: `fresh`, of the place called `place`, unless it has one already.
Result<std::int64_t> agree_on_artifact_mark(Writing& writing, std::int64_t fresh,
                                            const std::string& place);

// ---- removed artifacts
// Places of artifacts whose run, model, trace or experiment is gone (remove/remove.h notes them in
// the transaction that deletes the row).
struct RemovedArtifacts {
  std::int64_t id = 0;
  std::string location;  // as a run's artifact_uri
};
// Those with greater ids than `after`, ascending.
Result<std::vector<RemovedArtifacts>> removed_artifacts(Reading& reading, std::int64_t after,
                                                        std::int64_t limit);
// Deletes the notes of places that were removed, or that this server must not remove.
Result<> forget_removed_artifacts(Writing& writing, std::span<const std::int64_t> ids);

}  // namespace corral::store::page
