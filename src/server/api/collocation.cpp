// GET /plans/{plan}/collocation, /workloads/{workload}/collocation,
// /experiments/{experiment}/collocation: trainings beside others against the same alone
// (docs/shared-hardware.md).
#include "analyze/collocation/collocation.h"

#include <fmt/core.h>

#include <cmath>
#include <functional>
#include <memory>
#include <vector>

#include "core/json.h"
#include "core/text.h"
#include "server/api/handlers.h"
#include "server/api/late.h"
#include "server/api/run_group.h"
#include "server/api/write.h"
#include "store/tables/run_state.h"

namespace corral::server::api {
namespace {

using analyze::Collocation;
using store::page::SharingRun;

constexpr std::size_t kMostPlacedRuns = 2000;

std::int64_t count(std::size_t number) { return static_cast<std::int64_t>(number); }

void write_jobs(JsonWriter& json, std::string_view name, const std::vector<std::size_t>& jobs) {
  write_array(json, name, jobs,
              [](JsonWriter& out, std::size_t job) { out.value(analyze::job_letters(job)); });
}

void write_texts_of(JsonWriter& json, std::string_view name, const std::vector<std::string>& all) {
  write_array(json, name, all, [](JsonWriter& out, const std::string& text) { out.value(text); });
}

void write_alone(JsonWriter& json, const Collocation& found) {
  json.key("jobs").begin_array();
  for (std::size_t i = 0; i < found.jobs.size(); ++i) {
    json.begin_object().member("job", analyze::job_letters(i)).member("what", found.jobs[i]);
    json.key("alone").begin_array();
    for (const analyze::AloneJob& alone : found.alone) {
      if (alone.job != i) continue;
      json.begin_object().member("host", alone.host);
      write_text(json, "place", alone.place);
      json.member("n", count(alone.step_logs.size())).member("step_s", alone.step_s);
      json.member("duration_s", alone.duration_s);
      write_optional(json, "watts", alone.watts);
      write_optional(json, "against_all", alone.against_all);
      json.member("smallest_slice", alone.smallest_slice).end_object();
    }
    json.end_array().end_object();
  }
  json.end_array();
}

void write_placed_run(JsonWriter& json, const analyze::PlacedRun& run) {
  json.begin_object().member("id", run.id.hex()).member("name", run.name);
  json.member("job", analyze::job_letters(run.job)).member("host", run.host);
  write_text(json, "place", run.place);
  json.member("outcome", run.outcome).member("duration_s", run.duration_s);
  write_optional(json, "step_s", run.step_s);
  json.member("steps", count(run.steps));
  write_text(json, "not_steady", run.unsteady);
  write_optional(json, "slowdown", run.slowdown);
  write_optional(json, "capacity", run.capacity);
  write_optional(json, "interference", run.interference);
  json.end_object();
}

// The same of a cell and of a configuration.
template <class Gains>
void write_gains(JsonWriter& json, const Gains& gains) {
  write_optional(json, "throughput", gains.throughput);
  write_optional(json, "turnaround", gains.turnaround);
  write_optional(json, "fairness", gains.fairness);
  write_optional(json, "speedup", gains.speedup);
  write_optional(json, "energy", gains.energy);
}

void write_cell(JsonWriter& json, const analyze::Cell& cell) {
  const bool measured = cell.reason.empty();
  json.begin_object().member("workload", cell.workload).member("sharing", cell.sharing);
  write_array(json, "runs", cell.runs, write_placed_run);
  write_time(json, "from_ns", measured ? std::optional(cell.window.from) : std::nullopt);
  write_time(json, "to_ns", measured ? std::optional(cell.window.to) : std::nullopt);
  write_text(json, "reason", cell.reason);
  json.member("makespan_s", cell.makespan_s);
  json.member("rounds_left_out", count(cell.rounds_left_out));
  write_optional(json, "watts", cell.watts);
  write_gains(json, cell);
  json.end_object();
}

void write_configuration(JsonWriter& json, const analyze::Configuration& one) {
  json.begin_object().member("sharing", one.sharing);
  write_jobs(json, "jobs", one.jobs);
  write_texts_of(json, "places", one.places);
  write_texts_of(json, "hosts", one.hosts);
  json.member("cells", count(one.cells.size())).member("measured", count(one.measured));
  write_gains(json, one);
  write_array(json, "slowdowns", one.disturbances, [](JsonWriter& out, const auto& slow) {
    out.begin_object().member("job", analyze::job_letters(slow.job));
    write_text(out, "place", slow.place);
    out.member("host", slow.host);
    write_jobs(out, "beside", slow.beside);
    const auto finite = [](double value) {
      return std::isfinite(value) ? std::optional(value) : std::nullopt;
    };
    const bool both = slow.alone > 0 && slow.together > 0;
    write_optional(out, "slowdown", both ? finite(slow.slowdown.mean) : std::nullopt);
    write_optional(out, "low", both ? finite(slow.slowdown.low) : std::nullopt);
    write_optional(out, "high", both ? finite(slow.slowdown.high) : std::nullopt);
    out.member("n_alone", count(slow.alone)).member("n_together", count(slow.together));
    out.end_object();
  });
  json.end_object();
}

Result<std::vector<store::Run>> read_all(const store::Reader& store,
                                         const std::vector<SharingRun>& runs, const Left& left) {
  if (runs.size() > kMostPlacedRuns)
    return fail(Code::kTooLarge,
                fmt::format("more than {} runs cannot be compared", kMostPlacedRuns));
  std::vector<store::Run> read;
  for (const SharingRun& run : runs) {
    TRY(analyze::check_waiting(left));
    read.push_back(TRY(read_run(store, run.id)));
  }
  return read;
}

// Changes with everything that the runs' sessions store, and with their params and tags.
Result<std::string> state_of_data(const store::Reader& store, const std::vector<SharingRun>& runs) {
  std::size_t hash = 0;
  const auto read = [&](store::Reading& reading) -> Result<> {
    for (const SharingRun& run : runs)
      hash = std::hash<std::string>{}(
          fmt::format("{} {}", hash, TRY(store::page::run_state(reading, run.id))));
    return {};
  };
  TRY(store.inspect(read));
  return fmt::format("{:x} ", hash);
}

Response written_collocation(const Collocation& found) {
  return object_response([&](JsonWriter& json) {
    write_alone(json, found);
    write_array(json, "configurations", found.configurations, write_configuration);
    write_array(json, "cells", found.cells, write_cell);
    write_array(json, "unmeasured", found.unmeasured, [](JsonWriter& out, const auto& alone) {
      out.begin_object().key("run");
      write_placed_run(out, alone.run);
      out.member("reason", alone.reason).end_object();
    });
    write_texts_of(json, "missing", found.missing);
  });
}

}  // namespace

Answer collocation(const Request& request, Context& context) {
  const RunGroup group = TRY_PARSED(requested_group(request));
  const std::string field(request.query_value("job").value_or(""));
  if (!field.empty() && !is_run_field(field)) return bad_query(request, "job", kRunFields);
  const auto runs = std::make_shared<std::vector<SharingRun>>();
  const auto state = [&context, group, runs]() -> Result<std::string> {
    *runs = TRY(read_run_group(context.reader, group));
    return state_of(*runs) + TRY(state_of_data(context.reader, *runs));
  };
  const auto make = [&context, runs, field](const Left& left) -> Answer {
    const std::vector<store::Run> read = TRY(read_all(context.reader, *runs, left));
    analyze::CollocationOptions options{.left = left};
    if (!field.empty())
      options.job = [field](const store::Run& run) { return field_of_run(run, field); };
    return written_collocation(TRY(analyze::read_collocation(context.reader, read, options)));
  };
  return late_answer(request, context, State(state), make);
}

}  // namespace corral::server::api
