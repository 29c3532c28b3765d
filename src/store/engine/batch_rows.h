// Batch rows as points: what is in a stored frame.
#pragma once

#include <vector>

#include "codec/frame.h"
#include "core/result.h"
#include "store/engine/database.h"

namespace corral::store::sql {

// The samples of a stored frame, of a bundle those of all its sections. kCorruption.
Result<std::vector<codec::SamplesBody>> samples_of(Blob frame);

}  // namespace corral::store::sql
