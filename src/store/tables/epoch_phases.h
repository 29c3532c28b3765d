// Finds phases by name: epochs, the first step, the n-th phase of a name.
//
// Free functions over the caller's snapshot. Names are told apart by the caller.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/ids.h"
#include "core/result.h"
#include "core/time.h"
#include "store/model/content.h"
#include "store/model/transaction.h"

namespace corral::store::page {

struct NamedPhase {
  std::string name, lane;
  UtcTime start;
  std::optional<UtcTime> end = {};
  codec::Attributes attributes = {};
};
// At most `limit` of those whose name begins with "epoch", whatever its case, by start.
Result<std::vector<NamedPhase>> epoch_phases(Reading& reading, RunId run, std::size_t limit);

// The phase called `name` that is number `index` (from 0) by its begin, of the lane in which the
// first of that name is: of several ranks each has its own. nullopt: there are not so many.
Result<std::optional<NamedPhase>> nth_phase(Reading& reading, RunId run, const std::string& name,
                                            std::size_t index);

// When the first phase began that is a step: called step, batch, or so of a training.
Result<std::optional<UtcTime>> first_step(Reading& reading, RunId run);

}  // namespace corral::store::page
