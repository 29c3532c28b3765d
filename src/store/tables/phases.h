// Phases of a run in a window of time, the longest of them, and the fields of each that statistics
// need.
//
// Free functions over the caller's snapshot.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/ids.h"
#include "core/result.h"
#include "core/time.h"
#include "store/model/records.h"
#include "store/model/transaction.h"

namespace corral::store::page {

// A phase belongs to the window if part of its time does; a phase without an end lasts for ever.
struct PhaseWindow {
  UtcTime from = UtcTime::min();
  UtcTime to = UtcTime::max();  // left out itself
};
struct PhaseChoice {
  PhaseWindow window;
  Nanos shortest{0};  // shorter ones are left out; not those whose begin or end is not known
  std::optional<std::size_t> limit = {};  // only this many of the longest
};
struct ChosenPhases {
  std::vector<Phase> phases;  // by start
  std::int64_t left_out = 0;  // phases of the window that are not in `phases`
};
Result<ChosenPhases> choose_phases(Reading& reading, RunId run, const PhaseChoice& choice);

struct PhaseSpan {
  std::int64_t session = 0;
  std::uint64_t id = 0;
  std::uint64_t parent = 0;  // 0: none
  UtcTime start;
  std::optional<UtcTime> end;
  std::string name, lane;
};
// At most `limit` of those that begin before `to`, in no order.
Result<std::vector<PhaseSpan>> phase_spans(Reading& reading, RunId run, UtcTime to,
                                           std::size_t limit);

}  // namespace corral::store::page
