// Explain of several runs: the workflow and the footprint of a plan, workload or experiment.
// docs/analysis.md defines every number.
//
// Sources: the store, in a few snapshots for each run. Any thread.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analyze/footprint/group_footprint.h"
#include "analyze/left.h"
#include "analyze/workflow.h"
#include "core/result.h"
#include "store/reader.h"
#include "store/tables/sharing.h"

namespace corral::analyze {

inline constexpr std::size_t kMostGroupRuns = 20'000;
// Footprints that are read, each from series of its run: those of the first runs.
inline constexpr std::size_t kMostGroupFootprints = 1000;
// Stages of the path's runs are read until so many phases were.
inline constexpr std::size_t kMostGroupPhases = 4U << 20U;

struct GroupExplanation {
  std::vector<WorkflowRun> runs;  // as they were given
  Workflow workflow;
  StageTimes stages{};                 // on the path; they add up to the makespan
  std::size_t stages_left_out = 0;     // runs of the path whose phases are too many
  GroupFootprint footprint;            // the first runs'
  std::vector<std::string> no_energy;  // by run of the footprint: why; empty: it has some
  std::size_t footprints_left_out = 0;
  std::string summary;  // a few sentences
};

struct GroupExplainOptions {
  bool planned = false;  // the runs are all of a plan
  Left left = {};
};

// kUnprocessable: workloads come after each other in a circle; kTooLarge: too many runs.
Result<GroupExplanation> explain_group(const store::Reader& store,
                                       const std::vector<store::page::SharingRun>& runs,
                                       const GroupExplainOptions& options);

}  // namespace corral::analyze
