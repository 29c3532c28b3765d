// Phases of a run in a window of time, the longest of them, the fields of each that statistics
// need; and phases by name: epochs, the first step, the n-th phase of a name.
//
// Free functions over the caller's snapshot. Names are told apart by the caller.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "codec/frame.h"
#include "core/ids.h"
#include "core/result.h"
#include "core/time.h"
#include "store/model/content.h"
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
  std::int64_t total = 0;     // phases of the run, whatever the choice
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

// Its texts are valid until the next phase.
struct PhaseFields {
  UtcTime start;
  std::optional<UtcTime> end;
  codec::PhaseKind kind = codec::PhaseKind::kCompute;
  std::string_view name, type, lane;
  std::string_view attributes;  // JSON: parse_attributes()
};
struct PhaseScan {
  bool units_only = false;  // those whose name may be a step's or an epoch's; maybe some others
  std::size_t limit = 0;
};
// Calls `each` for at most `limit` phases that have begun, in no order; none of them is kept. An
// error of `each` ends it. Returns their number.
Result<std::size_t> each_phase(Reading& reading, RunId run, const PhaseScan& scan,
                               const std::function<Result<>(const PhaseFields&)>& each);

// Returns true if a phase of the run begins in the window: one look at an index.
Result<bool> has_phases(Reading& reading, RunId run, const PhaseWindow& window);

// ---- by name
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

// Names of phases that are one training step; first_step() takes them in any case.
inline constexpr auto kStepNames = std::to_array<std::string_view>(
    {"step", "train_step", "training_step", "batch", "train_batch", "run_training_batch"});

// When the first phase began that is a step.
Result<std::optional<UtcTime>> first_step(Reading& reading, RunId run);

}  // namespace corral::store::page
