#include "analyze/explain/stored_timeline.h"

#include <fmt/core.h>

namespace corral::analyze {

Result<Timeline> read_timeline(store::Reading& reading, const store::Run& run,
                               const TimelineReading& options) {
  Timeline timeline;
  std::size_t count = 0;
  const auto add = [&](const store::page::PhaseFields& phase) -> Result<> {
    if (count++ % kPhasesBetweenLooks == 0) TRY(check_waiting(options.left));
    timeline.add(phase);
    if (options.also) options.also(phase);
    return {};
  };
  TRY(store::page::each_phase(
      reading, run.id, {.units_only = options.units_only, .limit = kMostExplainedPhases + 1}, add));
  if (count > kMostExplainedPhases) {
    return fail(Code::kTooLarge, fmt::format("the run has more than {} phases, too many to explain",
                                             kMostExplainedPhases));
  }
  timeline.arrange(run.end.value_or(run.newest));
  return timeline;
}

Result<Timeline> read_timeline(const store::Reader& store, const store::Run& run,
                               const TimelineReading& options) {
  Timeline timeline;
  const auto read = [&](store::Reading& reading) -> Result<> {
    timeline = TRY(read_timeline(reading, run, options));
    return {};
  };
  TRY(store.inspect(read));
  return timeline;
}

}  // namespace corral::analyze
