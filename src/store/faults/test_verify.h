// Verify: compares a store with the frames that a script sent to it.
#pragma once

#include <string>

#include "core/result.h"
#include "store/faults/script.h"
#include "store/store.h"
#include "store/test_reader.h"

namespace corral::store::faults {

// The last stored number of each session of the script.
Result<Durable> durable_of(Store& store, const Script& script);

// Every point of the script's run, sorted.
struct Reading {
  ScriptPoints points;
  std::size_t damaged = 0;  // rows, blocks and pyramid rows that could not be read
};
// kInternal when the pyramid and the points under it contradict each other.
Result<Reading> read_points(Store& store, const Script& script);

// The store's faults, in words; empty when each session is stored at least up to `acknowledged`,
// whole frames only, and has exactly the points of its stored frames, with matching statistics.
std::string problem_of(Store& store, const Script& script, const Durable& acknowledged);

}  // namespace corral::store::faults
