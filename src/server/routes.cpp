#include <array>
#include <vector>

#include "server/api/handlers.h"
#include "server/core/door.h"
#include "server/core/router.h"
#include "server/ui/page.h"

namespace corral::server {
namespace {

constexpr std::array kApi = {
    Route{Method::kGet, "/health", api::alive, "liveness check"},
    Route{Method::kGet, "/api/corral/v1/version", api::version,
          "version, store and resource use of the server"},
    Route{Method::kGet, "/metrics", api::prometheus, "server metrics in Prometheus format"},
    Route{Method::kPost, "/api/corral/v1/frames", api::post_frames,
          "stores frames; durable before the response"},
    Route{Method::kGet, "/api/corral/v1/sessions/{session}", api::session,
          "last durable sequence number of a session"},
    Route{Method::kGet, "/api/corral/v1/experiments", api::experiments,
          "experiments, newest first"},
    Route{Method::kGet, "/api/corral/v1/workloads", api::workloads,
          "workloads, newest first (?experiment=&members=)"},
    Route{Method::kGet, "/api/corral/v1/workloads/{workload}/sharing", api::sharing,
          "which runs shared a device, instance, CPUs or host, and when (?metric=)"},
    Route{Method::kGet, "/api/corral/v1/runs", api::runs,
          "runs, newest first (?experiment=&workload=&status=&limit=&before=)"},
    Route{Method::kPost, "/api/corral/v1/runs/search", api::search_runs,
          "search runs by scope, filter, text and facets; one page with columns and facet counts"},
    Route{Method::kPost, "/api/corral/v1/sparklines", api::sparklines,
          "one metric of many runs, reduced to a few points each"},
    Route{Method::kPost, "/api/corral/v1/summaries", api::summaries,
          "metric statistics of many runs"},
    Route{Method::kGet, "/api/corral/v1/experiments/{experiment}/overview", api::overview,
          "workloads of an experiment with their runs and one value per run (?metric=&of=)"},
    Route{Method::kGet, "/api/corral/v1/runs/{run}", api::run,
          "a run with params, tags and host information"},
    Route{Method::kDelete, "/api/corral/v1/runs/{run}", api::remove_run,
          "delete a run (?force=&dry_run=)"},
    Route{Method::kDelete, "/api/corral/v1/experiments/{experiment}", api::remove_experiment,
          "delete an experiment and its runs (?force=&dry_run=)"},
    Route{Method::kGet, "/api/corral/v1/runs/{run}/metrics", api::metrics,
          "series of a run, its workload and its host"},
    Route{Method::kGet, "/api/corral/v1/runs/{run}/phases", api::phases,
          "phases of a run (?from_ns=&to_ns=&shortest_s=&limit=)"},
    Route{Method::kPost, "/api/corral/v1/phases/statistics", api::phase_statistics,
          "phase counts and durations by lane and path"},
    Route{Method::kGet, "/api/corral/v1/runs/{run}/check-trace", api::check_trace,
          "check that a run's phases are complete and consistent"},
    Route{Method::kGet, "/api/corral/v1/runs/{run}/events", api::events, "events of a run"},
    Route{Method::kGet, "/api/corral/v1/runs/{run}/health", api::health,
          "state of a run's capture, listeners and sources"},
    Route{Method::kGet, "/api/corral/v1/runs/{run}/logs", api::logs,
          "output of a run (?stream=&limit=, and one of from=, before=, tail=, at_ns=)"},
    Route{Method::kGet, "/api/corral/v1/runs/{run}/logs/search", api::search_logs,
          "search a run's output (?text=&regex=&case=&stream=&from=&limit=)"},
    Route{Method::kGet, "/api/corral/v1/runs/{run}/notes", api::notes, "notes on a run"},
    Route{Method::kPost, "/api/corral/v1/runs/{run}/notes", api::add_note, "add a note"},
    Route{Method::kPut, "/api/corral/v1/runs/{run}/notes/{note}", api::change_note,
          "replace a note"},
    Route{Method::kDelete, "/api/corral/v1/runs/{run}/notes/{note}", api::delete_note,
          "delete a note"},
    Route{Method::kGet, "/api/corral/v1/runs/{run}/profile", api::profile,
          "the latest requested profile and its progress"},
    Route{Method::kPost, "/api/corral/v1/runs/{run}/profile", api::ask_profile,
          "request a profile of a running run's next steps"},
    Route{Method::kPut, "/api/corral/v1/runs/{run}/profile/{id}", api::tell_profile,
          "update a profile's progress (sent by supervisors)"},
    Route{Method::kPost, "/api/corral/v1/views", api::save_view,
          "save a page view under a short id"},
    Route{Method::kGet, "/api/corral/v1/views/{view}", api::view, "a saved page view"},
    Route{Method::kGet, "/api/corral/v1/boards", api::boards, "saved boards"},
    Route{Method::kPut, "/api/corral/v1/boards/{board}", api::save_board, "save a board"},
    Route{Method::kDelete, "/api/corral/v1/boards/{board}", api::delete_board, "delete a board"},
    Route{Method::kGet, "/api/corral/v1/plans", api::plans,
          "plans that schedulers reported, with run counts by state"},
    Route{Method::kGet, "/api/corral/v1/plans/{plan}", api::plan, "the latest report on a plan"},
    Route{Method::kPut, "/api/corral/v1/plans/{plan}", api::save_plan,
          "report on a plan (sent by schedulers)"},
    Route{Method::kDelete, "/api/corral/v1/plans/{plan}", api::delete_plan,
          "delete a plan's report"},
    Route{Method::kGet, "/api/corral/v1/runs/{run}/export", api::export_points,
          "export points, streamed (?metric=GLOB&format=csv|jsonl|json|perfetto)"},
    Route{Method::kGet, "/api/corral/v1/runs/{run}/artifacts", api::list_artifacts,
          "list one directory of a run's artifacts (?path=)"},
    Route{Method::kGet, "/api/corral/v1/runs/{run}/artifacts/{path...}", api::get_artifact,
          "download an artifact (?download; Range)"},
    Route{Method::kPut, "/api/corral/v1/runs/{run}/artifacts/{path...}", api::put_artifact,
          "store an artifact"},
    Route{Method::kPost, "/api/corral/v1/points", api::points,
          "points of several runs; streamed, binary"},
    Route{Method::kGet, "/api/corral/v1/runs/{run}/latest", api::latest,
          "latest value or rate of each series (?metric=GLOB)"},
    Route{Method::kPost, "/api/corral/v1/charts", api::charts, "chart columns, binary"},
    Route{Method::kPost, "/api/corral/v1/lines", api::lines,
          "one value per pixel column: smoothed, integral, ratio, group, comparison; binary"},
    Route{Method::kPost, "/api/corral/v1/windows", api::windows,
          "statistics and quantiles of a time window"},
    Route{Method::kPost, "/api/corral/v1/xy", api::xy,
          "one metric over another, reduced to pixels; binary"},
    Route{Method::kPost, "/api/corral/v1/epochs", api::epochs,
          "start and end of each epoch of runs"},
    Route{Method::kPost, "/api/corral/v1/changes", api::changes,
          "series ranked by how much they changed in a window"},
    Route{Method::kGet, "/api/corral/v1/stream", api::stream, "server-sent events"},
    Route{Method::kGet, "/api/corral/v1/openapi.json", api::openapi_page,
          "these routes as an OpenAPI document"},
    Route{Method::kPost, "/api/corral/v1/stop", api::stop, "stop the server (Unix socket only)"},
};

// A path below /api that is in no table is an error; it never shows the page.
constexpr std::array kPage = {
    Route{Method::kGet, "/runs/{path...}", ui::page, ""},
    Route{Method::kGet, "/experiments/{path...}", ui::page, ""},
    Route{Method::kGet, "/plans/{path...}", ui::page, ""},
    Route{Method::kGet, "/board", ui::page, ""},
    Route{Method::kGet, "/summary", ui::page, ""},
    Route{Method::kGet, "/assets/{path...}", ui::asset, ""},
    Route{Method::kGet, "/{path...}", ui::root, ""},
};

}  // namespace

std::span<const Route> routes() {
  static const std::vector<Route> table = [] {
    std::vector<Route> all(kApi.begin(), kApi.end());
    const std::span<const Route> others = door::routes();
    all.insert(all.end(), others.begin(), others.end());
    all.insert(all.end(), kPage.begin(), kPage.end());
    return all;
  }();
  return table;
}

}  // namespace corral::server
