#include "analyze/explain/explain_group.h"

#include <fmt/core.h>

#include <algorithm>

#include "analyze/explain/stored_timeline.h"
#include "core/text.h"

namespace corral::analyze {
namespace {

using store::page::SharingRun;
using store::page::tag_of;

std::string outcome_of(const SharingRun& run) {
  const std::string_view outcome = tag_of(run, "corral.outcome");
  if (run.status == store::RunStatus::kRunning || outcome.empty())
    return std::string(store::status_name(run.status));
  return std::string(outcome);
}

WorkflowRun make_workflow_run(const SharingRun& run) {
  WorkflowRun one{.id = run.id.hex(),
                  .name = run.name,
                  .host = run.host,
                  .time = {.from = run.start, .to = run.end},
                  .outcome = outcome_of(run),
                  .experiment = run.experiment.value,
                  .workload = run.workload_name,
                  .after = {},
                  .plan = std::string(tag_of(run, "corral.plan")),
                  .row = std::string(tag_of(run, "corral.plan.row"))};
  const std::string_view repetition = tag_of(run, "corral.plan.repetition");
  constexpr std::int64_t kMostRepetitions = 10'000;
  one.repetition = static_cast<int>(
      std::clamp<std::int64_t>(parse_int(repetition).value_or(1), 1, kMostRepetitions));
  if (!one.row.empty()) one.row = fmt::format("{} {} {}", one.plan, one.row, one.repetition);
  one.loop = tag_of(run, "corral.loop") == "1";
  if (const std::string_view after = tag_of(run, "corral.plan.after"); !after.empty())
    for (const std::string_view name : split(after, '+')) one.after.emplace_back(name);
  // Runs without a name of their workload are alone in it.
  if (one.workload.empty()) one.workload = run.workload.hex();
  return one;
}

Result<> read_stages(const store::Reader& store, const std::vector<SharingRun>& runs,
                     const GroupExplainOptions& options, GroupExplanation& found) {
  std::vector<std::optional<StageTimes>> stages;
  std::size_t phases = 0;
  for (const PathStep& step : found.workflow.path) {
    TRY(check_waiting(options.left));
    stages.emplace_back();
    const auto run = TRY(store.run(runs[step.run].id));
    if (!run) continue;
    if (phases >= kMostGroupPhases) {
      ++found.stages_left_out;
      continue;
    }
    const auto timeline = read_timeline(store, *run, {.left = options.left});
    if (!timeline && timeline.error().code != Code::kTooLarge)
      return tl::unexpected(timeline.error());
    if (!timeline) {
      ++found.stages_left_out;
      continue;
    }
    phases += timeline->count();
    stages.back() = stages_of_run(*timeline, found.runs[step.run].time);
  }
  found.stages = stages_of_path(found.workflow, stages);
  return {};
}

std::string why_no_energy(const Footprint& footprint) {
  std::vector<std::string> reasons;
  for (const auto& [component, reason] : footprint.missing)
    reasons.push_back(fmt::format("{}: {}", component_name(component), reason));
  return reasons.empty() ? "not available" : join(reasons, "; ");
}

Result<> read_footprints(const store::Reader& store, const std::vector<SharingRun>& runs,
                         const GroupExplainOptions& options, GroupExplanation& found) {
  const std::size_t count = std::min(runs.size(), kMostGroupFootprints);
  found.footprints_left_out = runs.size() - count;
  std::vector<GroupedRun> grouped;
  for (std::size_t i = 0; i < count; ++i) {
    TRY(check_waiting(options.left));
    const RunEnd end = run_end_of(found.runs[i].outcome);
    GroupedRun one{.host = runs[i].host,
                   .lost = end == RunEnd::kFailed || end == RunEnd::kInterrupted,
                   .footprint = {}};
    if (const auto run = TRY(store.run(runs[i].id)))
      one.footprint = TRY(find_footprint(
          store, *run, {.from = {}, .to = {}, .left = options.left, .units = false}));
    found.no_energy.push_back(one.footprint.joules ? "" : why_no_energy(one.footprint));
    grouped.push_back(std::move(one));
  }
  found.footprint = add_footprints(grouped);
  return {};
}

std::string runs_text(std::size_t count) {
  return fmt::format("{} run{}", count, count == 1 ? "" : "s");
}

std::string summarize_group(const GroupExplanation& found) {
  if (found.runs.empty()) return "There are no runs yet.";
  const Workflow& flow = found.workflow;
  std::string text =
      fmt::format("{} took {}.", runs_text(found.runs.size()), precise_duration(flow.makespan_s));
  if (flow.makespan_s > 0)
    text += fmt::format(" The critical path has {}; {:.1f} % of it is waits.",
                        runs_text(flow.path.size()), 100 * flow.waiting_s / flow.makespan_s);
  for (const RunEnd end : {RunEnd::kFailed, RunEnd::kInterrupted, RunEnd::kRunning})
    if (const std::size_t count = flow.ends.at(static_cast<std::size_t>(end)); count > 0)
      text += fmt::format(" {} {}.", runs_text(count),
                          end == RunEnd::kRunning ? (count == 1 ? "is running" : "are running")
                          : end == RunEnd::kFailed
                              ? "failed"
                              : (count == 1 ? "was interrupted" : "were interrupted"));
  return text;
}

}  // namespace

Result<GroupExplanation> explain_group(const store::Reader& store,
                                       const std::vector<SharingRun>& runs,
                                       const GroupExplainOptions& options) {
  if (runs.size() > kMostGroupRuns)
    return fail(Code::kTooLarge,
                fmt::format("{} runs are more than {}", runs.size(), kMostGroupRuns));
  GroupExplanation found;
  found.runs.reserve(runs.size());
  for (const SharingRun& run : runs) found.runs.push_back(make_workflow_run(run));
  found.workflow = TRY(find_workflow(found.runs, options.planned));
  TRY(read_stages(store, runs, options, found));
  TRY(read_footprints(store, runs, options, found));
  found.summary = summarize_group(found);
  return found;
}

}  // namespace corral::analyze
