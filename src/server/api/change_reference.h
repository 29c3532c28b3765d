// Finds "the same phase of another run": its window, and the series of that run that correspond to
// the request's. Reads the store; any thread.
#pragma once

#include <cstdint>

#include "analyze/changes.h"
#include "core/result.h"
#include "server/api/change_request.h"
#include "store/reader.h"

namespace corral::server::api {

struct FoundReference {
  RunId run;
  analyze::ChangeWindow window;
  std::uint32_t unmatched = 0;  // series of the request that this run has no counterpart of
};

// Puts the counterparts (by name, source, kind and unit) into the request as its baseline and drops
// series without a counterpart. kNotFound: no such run or phase, kConflict: the phase has not
// ended.
Result<FoundReference> apply_reference(const store::Reader& store, const ChangeReference& reference,
                                       analyze::ChangesRequest& request);

}  // namespace corral::server::api
