// The mark of the place where a store's artifacts lie: rows of `meta`.
//
// Servers that share a database keep their artifacts at one place. That place and the database bear
// the same random number; the database also keeps the place's name, for messages.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/result.h"
#include "store/model/transaction.h"

namespace corral::store::page {

struct ArtifactMark {
  bool shared = false;               // other servers may write to the database
  std::optional<std::int64_t> mark;  // nothing: no server has marked a place yet
  std::string place;                 // artifact place of the server that set the mark
};
Result<ArtifactMark> artifact_mark(Reading& reading);

// The store's mark: `fresh`, of the place called `place`, unless it has one already.
Result<std::int64_t> agree_on_artifact_mark(Writing& writing, std::int64_t fresh,
                                            const std::string& place);

}  // namespace corral::store::page
