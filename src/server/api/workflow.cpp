// GET /plans/{plan}/workflow, /workloads/{workload}/workflow, /experiments/{experiment}/workflow:
// how the runs followed each other, and their energy together (docs/analysis.md).
#include <fmt/core.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "analyze/explain/explain_group.h"
#include "core/json.h"
#include "core/text.h"
#include "server/api/handlers.h"
#include "server/api/late.h"
#include "server/api/run_group.h"
#include "server/api/write.h"

namespace corral::server::api {
namespace {

using analyze::GroupExplanation;
using analyze::WorkflowRun;
using store::page::SharingRun;

constexpr std::size_t kMostNamedRuns = 100;  // in each list of an answer

void write_run_name(JsonWriter& json, const WorkflowRun& run) {
  json.member("run", run.id).member("name", run.name).member("outcome", run.outcome);
}

void write_critical_path(JsonWriter& json, const GroupExplanation& found) {
  write_array(json, "path", found.workflow.path, [&](JsonWriter& out, const auto& step) {
    const WorkflowRun& run = found.runs[step.run];
    out.begin_object();
    write_run_name(out, run);
    out.member("workload", run.workload).member("link", analyze::path_link_name(step.link));
    out.member("wait_s", step.wait_s).member("seconds", step.seconds);
    write_time(out, "from_ns", run.time.from);
    write_time(out, "to_ns", run.time.to);
    out.end_object();
  });
  json.key("stages").begin_array();
  for (std::size_t i = 0; i < analyze::kStages; ++i) {
    if (found.stages[i] <= 0) continue;
    json.begin_object().member("stage", analyze::stage_name(static_cast<analyze::Stage>(i)));
    json.member("seconds", found.stages[i]);
    json.member("share", found.stages[i] / found.workflow.makespan_s).end_object();
  }
  json.end_array();
  json.member("stages_left_out", static_cast<std::int64_t>(found.stages_left_out));
}

void write_queue(JsonWriter& json, const GroupExplanation& found) {
  json.key("queue");
  const auto& queue = found.workflow.queue;
  if (queue.empty()) {
    json.null();
    return;
  }
  double sum = 0;
  for (const analyze::QueueWait& wait : queue) sum += wait.seconds;
  json.begin_object().member("runs", static_cast<std::int64_t>(queue.size()));
  json.member("total_s", sum).member("mean_s", sum / static_cast<double>(queue.size()));
  json.key("longest").begin_array();
  for (std::size_t i = 0; i < std::min(queue.size(), kMostNamedRuns); ++i) {
    json.begin_object();
    write_run_name(json, found.runs[queue[i].run]);
    json.member("wait_s", queue[i].seconds).end_object();
  }
  json.end_array().end_object();
}

void write_run_ends(JsonWriter& json, const GroupExplanation& found) {
  const analyze::Workflow& flow = found.workflow;
  json.key("runs").begin_object().member("all", static_cast<std::int64_t>(found.runs.size()));
  for (std::size_t i = 0; i < flow.ends.size(); ++i)
    json.member(analyze::run_end_name(static_cast<analyze::RunEnd>(i)),
                static_cast<std::int64_t>(flow.ends[i]));
  const auto repeated =
      std::ranges::count_if(flow.repeated_by, [](const auto& one) { return one.has_value(); });
  json.member("repeated", static_cast<std::int64_t>(repeated)).end_object();
  json.member("lost_s", flow.lost_s).key("not_finished").begin_array();
  std::size_t named = 0;
  for (std::size_t i = 0; i < found.runs.size() && named < kMostNamedRuns; ++i) {
    const WorkflowRun& run = found.runs[i];
    const analyze::RunEnd end = analyze::run_end_of(run.outcome);
    const bool finished = end == analyze::RunEnd::kFinished || end == analyze::RunEnd::kRunning;
    if (finished && !flow.repeated_by[i]) continue;
    ++named;
    json.begin_object();
    write_run_name(json, run);
    json.member("seconds", analyze::window_seconds(run.time));
    write_text(json, "repeated_by", flow.repeated_by[i] ? found.runs[*flow.repeated_by[i]].id : "");
    json.end_object();
  }
  json.end_array();
}

void write_energy_sum(JsonWriter& json, const analyze::EnergySum& sum) {
  const auto measured = [](std::size_t runs, double value) {
    return runs > 0 ? std::optional(value) : std::nullopt;
  };
  json.member("runs", static_cast<std::int64_t>(sum.runs));
  json.member("measured", static_cast<std::int64_t>(sum.measured)).member("seconds", sum.seconds);
  write_optional(json, "joules", measured(sum.measured, sum.joules));
  write_optional(json, "kwh", measured(sum.measured, sum.kwh));
  write_optional(json, "co2e_g", measured(sum.with_grams, sum.grams));
  json.member("with_co2e", static_cast<std::int64_t>(sum.with_grams));
  write_array(json, "costs", sum.costs, [](JsonWriter& out, const analyze::GroupCost& cost) {
    out.begin_object();
    write_text(out, "currency", cost.currency);
    out.member("total", cost.energy.value_or(0) + cost.time.value_or(0));
    write_optional(out, "energy", cost.energy);
    write_optional(out, "time", cost.time);
    out.end_object();
  });
  json.member("with_cost", static_cast<std::int64_t>(sum.with_cost));
}

void write_group_footprint(JsonWriter& json, const GroupExplanation& found) {
  const analyze::GroupFootprint& sum = found.footprint;
  json.key("footprint").begin_object();
  write_energy_sum(json, sum.all);
  write_optional(json, "coverage",
                 sum.all.measured > 0 ? std::optional(sum.coverage) : std::nullopt);
  json.member("modelled", sum.modelled).key("failed").begin_object();
  write_energy_sum(json, sum.lost);
  json.end_object();
  write_array(json, "counted_once", sum.divided,
              [](JsonWriter& out, const std::string& text) { out.value(text); });
  json.key("not_measured").begin_array();
  std::size_t named = 0;
  for (std::size_t i = 0; i < found.no_energy.size() && named < kMostNamedRuns; ++i) {
    if (found.no_energy[i].empty()) continue;
    ++named;
    json.begin_object();
    write_run_name(json, found.runs[i]);
    json.member("reason", found.no_energy[i]).end_object();
  }
  json.end_array();
  json.member("left_out", static_cast<std::int64_t>(found.footprints_left_out)).end_object();
}

Response written_workflow(const RunGroup& group, const GroupExplanation& found) {
  const bool some = !found.runs.empty();
  const auto time = [&](UtcTime one) { return some ? std::optional(one) : std::nullopt; };
  return object_response([&](JsonWriter& json) {
    for (const char* kind : {"plan", "workload", "experiment"})
      write_text(json, kind, group.kind == kind ? group.id : "");
    write_time(json, "from_ns", time(found.workflow.window.from));
    write_time(json, "to_ns", time(found.workflow.window.to));
    json.member("provisional", found.workflow.provisional).member("summary", found.summary);
    json.member("makespan_s", found.workflow.makespan_s);
    json.member("waiting_s", found.workflow.waiting_s);
    write_critical_path(json, found);
    write_queue(json, found);
    write_array(json, "hosts", found.workflow.hosts, [](JsonWriter& out, const auto& use) {
      out.begin_object().member("host", use.host).member("seconds", use.seconds);
      out.member("idle_s", use.idle_s).end_object();
    });
    write_run_ends(json, found);
    write_group_footprint(json, found);
  });
}

}  // namespace

Answer workflow(const Request& request, Context& context) {
  const RunGroup group = TRY_PARSED(requested_group(request));
  // The runs of the last state are those that the answer is made of.
  const auto runs = std::make_shared<std::vector<SharingRun>>();
  const auto state = [&context, group, runs]() -> Result<std::string> {
    *runs = TRY(read_run_group(context.reader, group));
    return state_of(*runs);
  };
  const auto make = [&context, group, runs](const Left& left) -> Answer {
    const analyze::GroupExplainOptions options{.planned = group.kind == "plan", .left = left};
    return written_workflow(group, TRY(analyze::explain_group(context.reader, *runs, options)));
  };
  return late_answer(request, context, State(state), make);
}

}  // namespace corral::server::api
